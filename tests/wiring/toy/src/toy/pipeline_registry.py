from kedro.pipeline import Pipeline, node

from fedtext.wiring.config import active_parameters
from fedtext.wiring.unrolling import round_dataset, unroll
from toy import nodes


def register_pipelines() -> dict[str, Pipeline]:
    rounds = int(active_parameters()["toy"]["rounds"])
    setup = [
        node(nodes.read_private, "params:corpus", "private_records", name="read_private"),
        node(nodes.create_noise_key, "params:privacy.noise_seed", "private_noise_key", name="create_key", tags="keep"),
        node(
            nodes.release_mean,
            ["private_records", "private_noise_key", "ledger_open"],
            ["released_mean", "ledger"],
            name="release_mean",
            tags="release",
        ),
        node(nodes.open_ledger, "params:privacy", "ledger_open", name="open_ledger", tags="budget"),
        node(nodes.start, "params:toy.start", ["toy_adapter", "toy_state"], name="start"),
    ]
    one_round = Pipeline(
        [
            node(nodes.draw, ["state_before", "params:toy"], "candidates", name="draw"),  # never saved
            node(nodes.score, ["candidates", "released_mean", "params:toy"], "scores", name="score"),
            node(nodes.train, ["adapter_before", "scores", "params:toy"], "adapter", name="train"),
            node(nodes.close, ["state_before", "scores", "adapter"], "state", name="close"),
        ]
    )
    unrolled = unroll(
        one_round,
        rounds=rounds,
        namespace="toy",
        carried={"state_before": "state", "adapter_before": "adapter"},
        first={"state_before": "toy_state", "adapter_before": "toy_adapter"},
    )
    last = round_dataset("toy", rounds, "state")
    report = node(nodes.report, [last, "ledger"], "toy_report", name="report", namespace="toy")
    tell = node(nodes.tell, ["toy_report", "run_facts"], "facts_report", name="tell", tags="report")
    return {
        "told": Pipeline([tell]),
        "__default__": Pipeline([*setup, unrolled, report]),
        "leak": Pipeline([node(nodes.leak, "private_records", "toy_report", name="leak")]),
        "needs": Pipeline([node(nodes.leak, "released_gone", "toy_report", name="needs")]),
        "unsaved": Pipeline([node(nodes.start, "params:toy.start", ["toy_adapter", "nobody_saves"], name="start")]),
    }
