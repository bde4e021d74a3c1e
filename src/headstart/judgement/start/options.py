"""StartOptions: every chosen number of `start` in one place, checked once. docs/reference.md explains each."""

from __future__ import annotations

from dataclasses import dataclass

from headstart.checks import check_kind, check_number, check_whole
from headstart.forest import ForestOptions
from headstart.oracles.knowledge_gradient import KnowledgeGradientOptions
from headstart.oracles.lin_knowledge_gradient import LinKnowledgeGradientOptions
from headstart.priors.options import LinearPriorOptions, LoggedPriorOptions, SourceOptions


@dataclass(frozen=True)
class ForestChoiceOptions:
    """When a forest decides by context, instead of linear models."""

    fewest_rows: int = 200  # of a log that a forest is tried on
    most_rows: int = 10_000  # that it is compared with a line on
    n_parts: int = 5  # that the rows are dealt into: learnt on all but one, judged on that one
    sure: float = 2.0  # standard errors by which the forest must be better
    trees: ForestOptions = ForestOptions(n_trees=24, min_node=5)  # of the forest that is compared

    def __post_init__(self) -> None:
        check_whole("fewest_rows", self.fewest_rows)
        check_whole("most_rows", self.most_rows)
        check_number("n_parts", check_whole("n_parts", self.n_parts), low=2)
        check_number("sure", self.sure, low=0.0)
        check_kind("trees", self.trees, ForestOptions)


@dataclass(frozen=True)
class StartOptions:
    """How `start` makes a policy of a log; the defaults are what was measured.

    Parameters
    ----------
    most_rows
        Rows that are looked at one by one.
    prior, exploring, linear_prior, linear_exploring, forest, sources
        The options of what a start is made of; docs/reference.md has every number.
    explained_draws, explained_users
        How much is spent on asking whether contexts explain outcomes.

    Raises
    ------
    OptionError
        If a setting is outside its range.

    Examples
    --------
    >>> import headstart as hs
    >>> hs.StartOptions(most_rows=10_000).most_rows
    10000
    """

    most_rows: int = 50_000  # that are looked at one by one, as in an audit; means are of all rows
    prior: LoggedPriorOptions = LoggedPriorOptions()
    exploring: KnowledgeGradientOptions = KnowledgeGradientOptions()
    linear_prior: LinearPriorOptions = LinearPriorOptions()
    linear_exploring: LinKnowledgeGradientOptions = LinKnowledgeGradientOptions()
    forest: ForestChoiceOptions = ForestChoiceOptions()
    sources: SourceOptions = SourceOptions()
    explained_draws: int = 50  # of what the log leaves open, to say what deciding by context gains
    explained_users: int = 500  # of the log, to average that over

    def __post_init__(self) -> None:
        for name in ("most_rows", "explained_draws", "explained_users"):
            check_whole(name, vars(self)[name])
        check_kind("prior", self.prior, LoggedPriorOptions)
        check_kind("exploring", self.exploring, KnowledgeGradientOptions)
        check_kind("linear_prior", self.linear_prior, LinearPriorOptions)
        check_kind("linear_exploring", self.linear_exploring, LinKnowledgeGradientOptions)
        check_kind("forest", self.forest, ForestChoiceOptions)
        check_kind("sources", self.sources, SourceOptions)
