"""Deadlines of tasks on a real event loop."""

import asyncio
import time

import pytest

from headstart.serve.http.deadlines import Deadlines, in_thread


def test_a_block_ends_in_time_and_the_task_goes_on():
    async def run():
        deadlines, told = Deadlines(), []
        for _ in range(3):
            try:
                with deadlines.within(0.1):
                    await asyncio.sleep(60)
            except TimeoutError:
                told.append("over")
        await asyncio.sleep(0.1)  # nothing of the cancellation is left
        return told, asyncio.current_task().cancelling()

    assert asyncio.run(run()) == (["over"] * 3, 0)


def test_a_block_that_is_quick_is_left_alone():
    async def run():
        deadlines = Deadlines()
        with deadlines.within(0.05):
            await asyncio.sleep(0)
        await asyncio.sleep(0.2)
        return deadlines._due

    assert asyncio.run(run()) == {}


def test_a_thread_that_hangs_is_left_behind():
    async def run():
        started = time.monotonic()
        with pytest.raises(TimeoutError), Deadlines().within(0.1):
            await in_thread(time.sleep, 1.0)
        return time.monotonic() - started

    assert asyncio.run(run()) < 2.0  # the loop's end waits for the thread, the block does not


def test_an_error_of_the_block_is_its_own():
    async def run():
        with pytest.raises(KeyError), Deadlines().within(5.0):
            raise KeyError

    asyncio.run(run())


def test_who_ends_the_task_is_not_told_of_a_deadline():
    async def wait(deadlines):
        with deadlines.within(5.0):
            await asyncio.sleep(60)

    async def run():
        task = asyncio.create_task(wait(Deadlines()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_many_at_once_each_by_its_own_clock():
    async def one(deadlines, seconds, naps):
        try:
            with deadlines.within(seconds):
                await asyncio.sleep(naps)
        except TimeoutError:
            return "over"
        return "done"

    async def run():
        deadlines = Deadlines()
        return await asyncio.gather(*(one(deadlines, 0.2, 0.01 if i % 2 else 5.0) for i in range(200)))

    assert asyncio.run(run()) == ["over", "done"] * 100
