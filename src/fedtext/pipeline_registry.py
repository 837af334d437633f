"""The pipeline registry: every pipeline by name, and the default job."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from kedro.pipeline import Pipeline

from fedtext import pipelines
from fedtext.params.corpus import PUBLISHED_NAMES
from fedtext.pipelines.clients import pipeline as clients
from fedtext.pipelines.compare.pipeline import create_pipeline as compare
from fedtext.pipelines.contamination.pipeline import create_pipeline as contamination
from fedtext.pipelines.dp_classifier.pipeline import create_pipeline as dp_classifier
from fedtext.pipelines.evaluation import pipeline as evaluation
from fedtext.pipelines.export.pipeline import create_pipeline as export
from fedtext.pipelines.largefedbench import pipeline as largefedbench
from fedtext.pipelines.outputs.pipeline import create_pipeline as outputs
from fedtext.pipelines.pairs.pipeline import create_pipeline as preference_pairs
from fedtext.pipelines.partition.pipeline import create_pipeline as partition
from fedtext.pipelines.pretrain.pipeline import create_pipeline as pretrain
from fedtext.pipelines.private_only.pipeline import create_pipeline as private_only
from fedtext.pipelines.report import pipeline as report
from fedtext.pipelines.silos import pipeline as silos
from fedtext.pipelines.sources import pipeline as sources
from fedtext.system.errors import InputError, did_you_mean
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.config import active_loader
from fedtext.wiring.pipeline_settings import Settings


def algorithms() -> dict[str, Algorithm]:
    """Return all algorithms by name, in alphabetical order.

    A `pipelines/<name>/pipeline.py` has one as `ALGORITHM`, of the same name, or several that share it as `ALGORITHMS`.

    Raises:
        ValueError: an algorithm's name is not its folder's, two have one name, or one depends on one that does not
            exist.
    """
    found: dict[str, Algorithm] = {}
    for folder in sorted(module.name for module in iter_modules(pipelines.__path__)):
        for algorithm in _defined_in(folder):
            if algorithm.name in found:
                raise InputError(
                    f"pipelines/{folder} defines algorithm {algorithm.name!r} again: give it another name",
                    code="algorithm-defined-twice",
                    value=algorithm.name,
                )
            found[algorithm.name] = algorithm
    for name, algorithm in found.items():
        if algorithm.depends_on is not None and algorithm.depends_on not in found:
            raise InputError(
                f"{name} depends on {algorithm.depends_on!r}: choose one of {', '.join(sorted(found))}",
                code="unknown-dependency",
                value=algorithm.depends_on,
            )
    return dict(sorted(found.items()))


def _defined_in(folder: str) -> tuple[Algorithm, ...]:
    place = f"{pipelines.__name__}.{folder}.pipeline"
    module = import_module(place) if find_spec(place) else None
    algorithm = getattr(module, "ALGORITHM", None)
    if algorithm is None:
        return tuple(getattr(module, "ALGORITHMS", ()))
    if algorithm.name != folder:
        raise InputError(
            f"pipelines/{folder} defines algorithm {algorithm.name!r}: give both the same name",
            code="algorithm-of-other-name",
            value=algorithm.name,
        )
    return (algorithm,)


def register_pipelines() -> dict[str, Pipeline]:
    """Return all pipelines by name. An algorithm's name is its whole job; `__default__` is POPri's.

    A job is source -> public text -> partition -> clients -> algorithm -> evaluation -> report; for an algorithm whose
    output are preferences it is pairs -> algorithm -> report. Results of an earlier run below the data root are not
    computed again, so jobs share all that they have in common.
    """
    settings = Settings(active_loader())
    private = {
        "docstrings": sources.docstrings_pipeline(),
        "table": sources.table_pipeline(),
        "snapshot": sources.snapshot_pipeline(),
    }
    published = sources.published_pipeline()
    if settings.silos:
        return _of_silos(settings)
    by_source: dict[str, Pipeline] = {**private, **dict.fromkeys(PUBLISHED_NAMES, published)}
    source = settings.group("corpus")["source"]
    if not isinstance(source, str) or source not in by_source:
        raise InputError(
            f"corpus.source is {source!r}: {did_you_mean(str(source), by_source)}",
            code="unknown-source",
            parameter="corpus.source",
            value=source,
        )
    declared = settings.group("privacy")
    counted = settings.corpus_is_public and declared["population"] is None and declared["enrolment"] is None
    steps = {
        "public_text": sources.public_text_pipeline(settings),
        "partition": partition(settings),
        "clients": clients.create_pipeline(counted=counted),
        "controls": evaluation.controls_pipeline(settings),
    }
    common, found = Pipeline([by_source[source], *steps.values()]), algorithms()
    unprotected = private_only(settings)
    if len(unprotected.nodes) > 1:
        unprotected = Pipeline([common, unprotected])
    pairs = preference_pairs(settings, counted=counted)
    of_pairs = (OutputType.PREFERENCES, OutputType.POLICY)
    starts = {makes: pairs if makes in of_pairs else common for makes in OutputType}
    jobs = {name: _job(starts[algorithm.makes], algorithm, found, settings) for name, algorithm in found.items()}
    return {
        "__default__": jobs["popri"],
        **private,
        "published": published,
        "described_text": sources.described_text_pipeline(),
        **steps,
        "pairs": pairs,
        **jobs,
        "private_only": unprotected,
        "dp_classifier": Pipeline([common, dp_classifier(settings)]),
        "compare": compare(settings, jobs),
        "contamination": contamination(settings),
        "ingest": largefedbench.ingest_pipeline(),
        "largefedbench": largefedbench.build_pipeline(),
        "largefedbench_diff": largefedbench.diff_pipeline(),
        "largefedbench_export": export(),
        "half_year": largefedbench.half_year_pipeline(),
        "release": largefedbench.release_pipeline(),
        "push": largefedbench.push_pipeline(),
        "pretrain": pretrain(),
    }


def _of_silos(settings: Settings) -> dict[str, Pipeline]:
    """Return the pipelines of a run whose private text lies with silos: nobody here has held-out text to measure on."""
    steps = {"public_text": sources.public_text_pipeline(settings), "silos": silos.create_pipeline()}
    common, known = Pipeline([*steps.values()]), algorithms()
    jobs = {name: Pipeline([common, silos.asking(whole(known[name], known, settings))]) for name in silos.ASKING}
    return {"__default__": jobs["popri"], **steps, **jobs}


def whole(algorithm: Algorithm, known: Mapping[str, Algorithm], settings: Settings) -> Pipeline:
    """Return the algorithm's pipeline with its output nodes, after those of the algorithms that it depends on."""
    below = [whole(known[algorithm.depends_on], known, settings)] if algorithm.depends_on else []
    tokens = [clients.tokens_pipeline()] if algorithm.client_tokens else []
    return Pipeline(
        [*below, *tokens, algorithm.pipeline(settings), outputs(algorithm, has_readers=settings.has_readers)]
    )


def _job(common: Pipeline, algorithm: Algorithm, known: Mapping[str, Algorithm], settings: Settings) -> Pipeline:
    judged, reported = evaluation.judgement(algorithm, settings), report.reporting(algorithm, settings)
    own = [whole(algorithm, known, settings), judged, reported]
    return Pipeline([common, *own])
