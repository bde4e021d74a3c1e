"""Yahoo's files: the tests write small ones in both formats, for the real ones may not be passed on."""

import gzip
import json

import numpy as np
import pytest

from headstart.errors import LogError, OptionError
from headstart.experiments.paper.yahoo import YAHOO_EXPERIMENTS, count_yahoo_steps, run_yahoo
from headstart.worlds.yahoo import read_yahoo

USER = "2:0.000012 3:0.000000 4:0.000006 5:0.000023 6:0.999958 1:1.000000"
ARTICLE = "2:0.306008 3:0.000450 4:0.077048 5:0.230439 6:0.386055 1:1.000000"


def original_line(time, shown, click, articles, user=USER):
    blocks = " ".join(f"|{article} {ARTICLE}" for article in articles)
    return f"{time} {shown} {click} |user {user} {blocks}"


LINES = [
    original_line(1241160900, 109513, 0, [109498, 109509, 109513]),
    original_line(1241160900, 109498, 1, [109498, 109509, 109513]),
    original_line(1241161200, 109600, 0, [109509, 109513, 109600]),
]
ROWS = [
    "1241160900 1.0 0.1 0.2 0.3 0.4 0.0 109513 0 109498 109509 109513",
    "1241160900 1.0 0.5 0.2 0.3 0.0 0.0 109498 1 109498 109509 109513",
    "1241161200 1.0 0.0 0.2 0.3 0.5 0.0 109600 0 109509 109600",
]


def write(path, lines, end="\n"):
    path.write_text("\n".join(lines) + end)
    return path


class TestOriginalFiles:
    def test_an_event_is_read(self, tmp_path):
        events = read_yahoo(write(tmp_path / "clicks", LINES))
        assert events.action_names == ("109498", "109509", "109513", "109600")
        assert events.actions.tolist() == [2, 0, 3]
        assert events.outcomes.tolist() == [0.0, 1.0, 0.0]
        assert events.contexts[0].tolist() == [1.0, 0.000012, 0.0, 0.000006, 0.000023, 0.999958]
        assert events.pools[events.pool_of].tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1]]
        assert len(events.pools) == 2

    def test_compressed_or_not_is_the_same(self, tmp_path):
        plain = read_yahoo(write(tmp_path / "clicks", LINES))
        with gzip.open(tmp_path / "clicks.gz", "wt") as file:
            file.write("\n".join(LINES) + "\n")
        packed = read_yahoo(tmp_path / "clicks.gz")
        assert packed.contexts.tolist() == plain.contexts.tolist()
        assert packed.actions.tolist() == plain.actions.tolist()

    def test_missing_features_are_zero_and_the_constant_one(self, tmp_path):
        lines = [
            original_line(1, 109498, 1, [109498], user="3:0.5"),
            "2 109498 0 |user |109498 |109509 2:0.1",  # neither the user's nor an article's features
        ]
        events = read_yahoo(write(tmp_path / "clicks", lines))
        assert events.contexts.tolist() == [[1.0, 0.0, 0.5, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]

    def test_a_folders_files_are_read_by_name(self, tmp_path):
        write(tmp_path / "ydata-fp-td-clicks-v1_0.20090502", LINES[1:2])
        write(tmp_path / "ydata-fp-td-clicks-v1_0.20090501", LINES[2:])
        write(tmp_path / "README.txt", ["not an event"])
        assert read_yahoo(tmp_path).action_names == ("109498", "109509", "109513", "109600")
        assert read_yahoo(tmp_path).outcomes.tolist() == [0.0, 1.0]

    def test_limit(self, tmp_path):
        assert len(read_yahoo(write(tmp_path / "clicks", LINES), limit=2)) == 2
        with pytest.raises(OptionError, match="limit must be at least 1, got 0"):
            read_yahoo(tmp_path / "clicks", limit=0)

    def test_no_line_break_at_the_end_of_a_whole_line_is_well(self, tmp_path):
        assert len(read_yahoo(write(tmp_path / "clicks", LINES, end=""))) == 3

    def test_a_file_cut_anywhere_in_a_line_says_where(self, tmp_path):
        """In the time, the click, the user's features, an article's number, its features, the last decimals."""
        for length in range(1, len(LINES[2])):
            write(tmp_path / "clicks", [*LINES[:2], LINES[2][:length]], end="")
            with pytest.raises(LogError, match="clicks, line 3: the line is cut, the file ends without a line break"):
                read_yahoo(tmp_path / "clicks")

    def test_a_compressed_file_that_is_cut_says_where(self, tmp_path):
        lines = [original_line(i, 109498, i % 2, [109498], user=f"2:{i / 7:.6f}") for i in range(2000)]
        packed = gzip.compress(("\n".join(lines) + "\n").encode())
        (tmp_path / "clicks.gz").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(LogError, match=r"clicks\.gz, line \d+: the compressed file is cut or damaged here"):
            read_yahoo(tmp_path / "clicks.gz")

    @pytest.mark.parametrize(
        ("line", "text"),
        [
            (original_line(1, 5, 0, [109498]), "the displayed article 5 is not among the 1 candidates"),
            (original_line(1, 109498, 2, [109498]), "click must be 0 or 1, got '2'"),
            (original_line(1, 109498, 0, [109498], user="7:0.5"), r"a number 1\.\.6, got '7:0\.5'"),
            (original_line(1, 109498, 0, [109498], user="2:inf"), "a feature is 'number:value'"),
            ("1 109498 |user 1:1 |109498 1:1", "an event is 'timestamp article click"),
            ("1 109498 0 |user 1:1", "an event is 'timestamp article click"),
            ("1 109498 0 |user 1:1 |109498 1:1 | 2:3", "an article has no number"),
        ],
    )
    def test_a_line_that_cannot_be_read_is_named(self, tmp_path, line, text):
        write(tmp_path / "clicks", [LINES[0], line, LINES[1]])
        with pytest.raises(LogError, match=f"clicks, line 2: .*({text})"):
            read_yahoo(tmp_path / "clicks")

    def test_absent_data_says_where_to_get_it(self, tmp_path):
        with pytest.raises(LogError, match=r"no Yahoo data at .*nowhere.*webscope\.sandbox\.yahoo\.com"):
            read_yahoo(tmp_path / "nowhere")
        with pytest.raises(LogError, match=r"has no file ydata-fp-td-clicks-.*webscope"):
            read_yahoo(tmp_path)
        with pytest.raises(LogError, match="has no events"):
            read_yahoo(write(tmp_path / "empty", []))


class TestTable:
    def test_a_row_is_read(self, tmp_path):
        events = read_yahoo(write(tmp_path / "table", ROWS))
        assert events.actions.tolist() == [2, 0, 3]
        assert events.outcomes.tolist() == [0.0, 1.0, 0.0]
        assert events.contexts[0].tolist() == [1.0, 0.1, 0.2, 0.3, 0.4, 0.0]
        assert events.pools[events.pool_of].sum(axis=1).tolist() == [3, 3, 2]

    def test_commas_column_names_and_gaps_are_the_same(self, tmp_path):
        """As pandas writes it: the missing third candidate is empty and makes its column fractional."""
        names = "timestamp,context1,context2,context3,context4,context5,context6,drawn_article,reward,a1,a2,a3"
        rows = [row.replace(" ", ",") for row in ROWS]
        rows = [rows[0] + ".0", rows[1] + ".0", rows[2] + ","]
        commas = read_yahoo(write(tmp_path / "csv", [names, *rows]))
        blanks = read_yahoo(write(tmp_path / "table", ROWS))
        assert commas.action_names == blanks.action_names
        assert commas.pools[commas.pool_of].tolist() == blanks.pools[blanks.pool_of].tolist()
        assert commas.contexts.tolist() == blanks.contexts.tolist()

    @pytest.mark.parametrize("row", [ROWS[2], ROWS[2].replace("109600 0", "109509 0")])
    def test_a_table_cut_in_the_middle_of_a_row_says_where(self, tmp_path, row):
        """But for a cut exactly after an article, which leaves a whole row with a smaller choice."""
        for length in range(1, len(row)):
            write(tmp_path / "table", [*ROWS[:2], row[:length]], end="")
            if row[:length].rstrip().endswith("0 109509"):
                continue
            with pytest.raises(LogError, match="table, line 3: the line is cut"):
                read_yahoo(tmp_path / "table")

    def test_a_row_that_cannot_be_read_is_named(self, tmp_path):
        write(tmp_path / "table", [ROWS[0], ROWS[1].replace("0.5", "x")])
        with pytest.raises(LogError, match="table, line 2: user features must be 6 numbers"):
            read_yahoo(tmp_path / "table")


class TestExperiments:
    @pytest.fixture
    def data(self, tmp_path):
        """3,000 events of five articles, shown by lot; article k is clicked with chance 0.1 (k + 1)."""
        rng = np.random.default_rng(1)
        articles = np.arange(109501, 109506)
        rows = []
        for i in range(3000):
            pool = np.sort(rng.choice(5, size=4, replace=False))
            shown = rng.choice(pool)
            user = " ".join(f"{value:.6f}" for value in [1.0, *rng.dirichlet(np.ones(5))])
            click = int(rng.random() < 0.1 * (shown + 1))
            rows.append(f"{i} {user} {articles[shown]} {click} " + " ".join(map(str, articles[pool])))
        return write(tmp_path / "table", rows)

    @pytest.mark.parametrize("name", ["yahoo-linucb", "yahoo-ipsw", "yahoo-batch"])
    def test_runs_from_a_path_and_learns(self, data, name):
        """Chance earns 0.3; two runs of 400 rounds have a standard deviation of 0.018."""
        steps = []
        results = list(run_yahoo(name, data, runs=2, rounds=400, progress=steps.append))
        assert sum(steps) == count_yahoo_steps(name, 2) == 2 * len(results)
        for result in results:
            row = json.loads(json.dumps(result.as_row()))
            assert row["experiment"] == name
            assert row["rounds"] == 400
            assert row["mean"] > 0.3 + 4 * 0.018
            assert {"oracle", "evaluator"} <= set(row["setting"])

    def test_the_number_of_jobs_changes_nothing(self, data):
        events = read_yahoo(data)
        first, second = (
            [r.curve.regrets.tolist() for r in run_yahoo("yahoo-ipsw", events, runs=4, rounds=200, n_jobs=jobs)]
            for jobs in (1, 2)
        )
        assert first == second

    def test_every_experiment_declares_its_cases(self):
        assert list(YAHOO_EXPERIMENTS) == [
            "yahoo-linucb",
            "yahoo-ipsw",
            "yahoo-heuristics",
            "yahoo-forest",
            "yahoo-batch",
        ]
        for experiment in YAHOO_EXPERIMENTS.values():
            assert experiment.cases()

    def test_the_heuristics_run(self, data):
        results = list(run_yahoo("yahoo-heuristics", data, runs=2, rounds=100))
        assert [r.setting.get("evaluator") for r in results] == [
            *(None, "historical average", "linear regression", "xgboost", "SDB", "IPSW")
        ]

    def test_the_forest_runs(self, data):
        cases = [r.series for r in run_yahoo("yahoo-forest", data, runs=1, rounds=30)]
        assert cases == 2 * ["offline+online", "only online", "only offline"]

    def test_rejects(self, data, tmp_path):
        with pytest.raises(OptionError, match="unknown experiment 'yahoo'; known: yahoo-linucb"):
            list(run_yahoo("yahoo", data))
        with pytest.raises(OptionError, match="runs must be at least 1, got 0"):
            list(run_yahoo("yahoo-ipsw", data, runs=0))
        with pytest.raises(LogError, match="there is no Yahoo data at"):
            list(run_yahoo("yahoo-ipsw", tmp_path / "nowhere"))
