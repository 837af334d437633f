"""compare: every entry with every seed as a run of its own, then tables, figures and verdicts over all of them.

Nothing private is read here. The nodes of the runs run again every time, since only a run's own records show what is
left to do. Their outputs are saved, so that everything after them is rebuilt only where a result changed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from os.path import realpath
from pathlib import Path

from kedro.pipeline import Node, Pipeline

from fedtext.params.compare import Compare
from fedtext.params.largefedbench import LargeFedBench
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare import budget, nodes
from fedtext.pipelines.compare.children import ChildRun, ResultPaths, planned
from fedtext.privacy.tags import Tag
from fedtext.system.errors import InputError
from fedtext.system.refusal import parameter_faults, parameters_refusal, refusal_of
from fedtext.wiring.algorithm import Outputs
from fedtext.wiring.config import ProjectConfigLoader
from fedtext.wiring.guard.catalog import catalog_resolver, place
from fedtext.wiring.guard.catalog import entry as catalog_entry
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unit_identity import unit_rules
from fedtext.wiring.unrolling import Namespace

SETS = nodes.SETS_MAP
FIGURES = (
    *("figure1", "figure2", "figure3", "figure4", "figure6", "figure8"),
    *("epsilon", "models", "votes", "records", "pairs", "models_by_round", "strong", "figure7", "clients"),
)
PLANNED_FROM = {"compare": Compare, "privacy": Privacy, "largefedbench": LargeFedBench}
COMPARE = Namespace("compare")
CHECKED, AFFORDABLE = COMPARE("checked"), COMPARE("affordable")
Placing = Callable[[Iterable[str]], list[Path]]


def create_pipeline(settings: Settings, jobs: Mapping[str, Pipeline]) -> Pipeline:
    """Create the comparison that `compare` declares; `jobs` are the algorithms' whole graphs by their names.

    Raises:
        RunRefusedError: A group of parameters that the runs are planned from is wrong, found before Kedro has checked
            any; or there is no such algorithm.
    """
    loader, parameters = settings.loader, settings.parameters
    if faults := parameter_faults(parameters, PLANNED_FROM):
        raise parameters_refusal(faults)
    compare = Compare.model_validate(parameters["compare"])
    try:
        compare.validate_names(tuple(jobs))
    except InputError as error:
        raise refusal_of(error) from None
    placed = _places(loader)
    left = _left({entry.algorithm for entry in compare.chosen.values()}, placed)
    children = [child for seed in compare.seeds for child in _children(compare, seed, left, loader)]
    plans = _plans(children, jobs, placed, loader, public=settings.corpus_is_public)
    results = [_dataset(child, "result") for child in children]
    seconds = [_dataset(child, "seconds") for child in children]
    drawn = [f"comparison_{name}_figure" for name in FIGURES]
    check = COMPARE.node(
        nodes.entry_checker(tuple(jobs)), ["params:compare", "params:claims"], CHECKED, name="check_entries"
    )
    return Pipeline(
        [
            check,
            *plans,
            *_runs(children, ready=AFFORDABLE),
            COMPARE.node(
                nodes.tabulate,
                ["params:claims", "params:privacy", *results],
                ["comparison", "comparison_table1", "comparison_text"],
                name="tabulate",
            ),
            COMPARE.node(
                nodes.tabulate_costs,
                seconds,
                ["comparison_costs", "comparison_table2"],
                name="tabulate_costs",
            ),
            COMPARE.node(
                nodes.draw_figures, ["comparison", *results[: len(compare.algorithms)]], drawn, name="draw_figures"
            ),
            COMPARE.node(
                nodes.write_page, ["comparison", "comparison_costs", *drawn], "comparison_page", name="write_page"
            ),
        ]
    )


def _children(
    compare: Compare, seed: int, left: Mapping[str, ResultPaths], loader: ProjectConfigLoader
) -> list[ChildRun]:
    """Return the runs of one seed, in the order in which they share files; `left` is by algorithm."""
    first = next(iter(compare.chosen))
    return [
        planned(
            name,
            entry,
            seed,
            root=loader.data_root / "compare",
            project=loader.project_path,
            conf=loader.named_source or str(loader.conf_source),
            env=loader.env,
            given=loader.runtime_params or {},
            parameters=loader.parameters,
            left=left[entry.algorithm],
            start_from=first if compare.chosen[first].params else None,
        )
        for name, entry in compare.chosen.items()
    ]


def _places(loader: ProjectConfigLoader) -> Placing:
    """Return a function that finds the path of a data set below a data root: a run's or the comparison's.

    The catalog is read once: it takes a tenth of a second, and there are many runs.
    """
    resolver, root = catalog_resolver(loader["catalog"]), realpath(loader.data_root)

    def placed(names: Iterable[str]) -> list[Path]:
        found = [place(catalog_entry(name, resolver)) for name in names]
        return [path.relative_to(root) for path in found if path is not None]

    return placed


def _left(algorithms: Collection[str], placed: Placing) -> dict[str, ResultPaths]:
    """Return the paths of the results of each algorithm's run."""
    made = {algorithm: Outputs(algorithm) for algorithm in algorithms}
    return {
        algorithm: ResultPaths(*placed([own.scorecard, own.privacy_report, own.figure(SETS)]))
        for algorithm, own in made.items()
    }


def _plans(
    children: list[ChildRun],
    jobs: Mapping[str, Pipeline],
    placed: Placing,
    loader: ProjectConfigLoader,
    *,
    public: bool,
) -> list[Node]:
    """Create a node an entry that checks its settings, and plans the releases of its runs unless the text is public.

    One more checks their total against the budget. Of public text nothing is refused.
    """

    def planner(child: ChildRun) -> Callable[[bool], list[budget.PlannedReleases]]:
        job = jobs[child.entry.algorithm]
        if public or not budget.is_planned(child.entry):
            return budget.settings_checker(child, next(node.name for node in job.nodes if Tag.KEEP in node.tags))
        roots = {one.seed: one.roots for one in children if one.name == child.name}
        return budget.release_planner(child, _ledgers(job, placed), roots, unit_rules(job, loader))

    planned = [
        COMPARE.node(planner(child), CHECKED, COMPARE(f"{child.name}.plan"), name=f"plan_{child.name}")
        for child in children
        if child.seed == children[0].seed
    ]
    afford = budget.budget_checker(loader.data_root)
    given = ["params:privacy", *(node.outputs[0] for node in planned)]
    return [*planned, COMPARE.node(afford, given, AFFORDABLE, name="check_budget")]


def _ledgers(job: Pipeline, placed: Placing) -> dict[str, Path]:
    """Return the paths of the ledgers that a run's nodes open."""
    opened = {node.name: node.outputs[0] for node in job.nodes if Tag.BUDGET in node.tags}
    return dict(zip(opened, placed(opened.values()), strict=True))


def _runs(children: list[ChildRun], *, ready: str) -> list[Node]:
    """Create a node for the runs of the seeds' shared data roots, and then one for those that start from their files.

    Each has a lane a data root. Lanes are side by side where the engine has workers, and else one after the other.
    """
    waves = {
        "shared": [child for child in children if child.start_from is None],
        "variants": [child for child in children if child.start_from is not None],
    }
    made = []
    for name, wave in waves.items():
        if wave:
            own = [child for lane in nodes.lanes_of(wave) for child in lane]
            kinds = [_dataset(child, kind) for kind in ("result", "seconds") for child in own]
            asked = COMPARE(f"{name}.runs.asked")
            made.append(COMPARE.node(nodes.entries_runner(own), ready, [*kinds, asked], name=f"run_{name}"))
            ready = asked
    return made


def _dataset(child: ChildRun, kind: str) -> str:
    return COMPARE(f"{child.name}.seed_{child.seed}.{kind}")
