"""compare: every entry with every seed as a run of its own, then tables, figures and verdicts over all of them.

Nothing private is read here. A run's node is asked again every time, for its own records, and not this pipeline's, say
what is left to do; what it hands over is saved, so that everything after it is rebuilt only where a result changed.
"""

from collections.abc import Collection, Mapping
from os.path import realpath

from kedro.io.catalog_config_resolver import CatalogConfigResolver
from kedro.pipeline import Node, Pipeline

from fedtext.params.compare import Compare
from fedtext.params.largefedbench import LargeFedBench
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare import nodes
from fedtext.pipelines.compare.children import Child, Left, planned
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refused
from fedtext.wiring.config import active_loader, active_parameters
from fedtext.wiring.guard.catalog import entry as catalog_entry
from fedtext.wiring.guard.catalog import place
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.unrolling import Namespace

SETS = nodes.SETS_MAP
FIGURES = ("figure1", "figure2", "figure3", "figure4", "figure6", "figure8", "epsilon", "models", "votes", "records")
PLANNED_FROM = {"compare": Compare, "privacy": Privacy, "largefedbench": LargeFedBench}
COMPARE = Namespace("compare")


def create_pipeline(algorithms: Collection[str]) -> Pipeline:
    """The comparison that `compare` asks for; `algorithms` are the names that can be run.

    Raises:
        RunRefusedError: a group of parameters is wrong that the runs are planned from, before Kedro has checked any; or
            an algorithm is asked for that is not there.
    """
    parameters = active_parameters()
    if faults := parameter_faults(parameters, PLANNED_FROM):
        raise parameters_refused(faults)
    compare = Compare.model_validate(parameters["compare"])
    try:
        compare.refuse_unknown(tuple(algorithms))
    except ValueError as error:
        raise RunRefusedError(str(error)) from None
    left = _left({entry.algorithm for entry in compare.chosen.values()})
    children = [child for seed in compare.seeds for child in _children(compare, seed, left)]
    results = [_dataset(child, "result") for child in children]
    seconds = [_dataset(child, "seconds") for child in children]
    drawn = [f"comparison_{name}_figure" for name in FIGURES]
    check = COMPARE.node(
        nodes.checking(tuple(algorithms)), ["params:compare", "params:claims"], COMPARE("checked"), name="check_entries"
    )
    return Pipeline(
        [
            check,
            *_runs(children),
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


def _children(compare: Compare, seed: int, left: Mapping[str, Left]) -> list[Child]:
    """The runs of one seed, in the order in which they share files; `left` is by algorithm."""
    loader, first = active_loader(), next(iter(compare.chosen))
    return [
        planned(
            name,
            entry,
            seed,
            root=loader.data_root / "compare",
            project=loader.project_path,
            conf=str(loader.conf_source),
            env=loader.env,
            given=loader.runtime_params or {},
            parameters=active_parameters(),
            left=left[entry.algorithm],
            start_from=first if compare.chosen[first].params else None,
        )
        for name, entry in compare.chosen.items()
    ]


def _left(algorithms: Collection[str]) -> dict[str, Left]:
    """By algorithm, as the catalog says, which is read once: it takes a tenth of a second, and there are many runs.

    A run's data root has the same places as the comparison's.
    """
    loader = active_loader()
    resolver, root = CatalogConfigResolver(dict(loader["catalog"]), {}, {}), realpath(loader.data_root)
    found = {}
    for algorithm in algorithms:
        made = Outputs(algorithm)
        names = (made.scorecard, made.privacy_report, made.figure(SETS))
        places = [place(catalog_entry(name, resolver)) for name in names]
        found[algorithm] = Left(*(path.relative_to(root) for path in places if path is not None))
    return found


def _runs(children: list[Child]) -> list[Node]:
    """One node a run, each after the one before it: they share files, and the machine has one set of cores."""
    done = [COMPARE("checked"), *(_dataset(child, "result") for child in children)]
    return [
        COMPARE.node(
            nodes.asking(child),
            list(dict.fromkeys([COMPARE("checked"), before])),
            [_dataset(child, kind) for kind in ("result", "seconds", "asked")],
            name=f"run_{child.name}_seed_{child.seed}",
        )
        for child, before in zip(children, done, strict=False)
    ]


def _dataset(child: Child, kind: str) -> str:
    return COMPARE(f"{child.name}.seed_{child.seed}.{kind}")
