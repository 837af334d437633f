"""Rules about the source that a reader relies on."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_no_pickle_is_loaded() -> None:
    """None from a file. A run's own process hands its workers functions, which no file keeps."""
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            alias.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in ([*node.names] if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
        }
        carried = {"cloudpickle"} if path.name == "engine.py" and path.parent.name == "system" else set()
        assert not (imported & {"pickle", "joblib", "dill", "cloudpickle", "shelve"}) - carried, path
        for call in calls(tree):
            if ast.unparse(call.func).endswith(("torch.load", "np.load", "numpy.load")):
                arguments = {k.arg: ast.unparse(k.value) for k in call.keywords}
                assert arguments.get("weights_only") == "True" or arguments.get("allow_pickle") == "False", path


def test_names_say_what_a_module_does() -> None:
    assert not [path for path in SOURCES if VAGUE & set(path.with_suffix("").parts)]


def test_nodes_import_no_kedro() -> None:
    for path in SOURCES:
        if "nodes" in path.relative_to(ROOT).with_suffix("").parts:
            assert not re.search(r"^(from|import) (kedro|mlflow|omegaconf)", path.read_text("utf-8"), re.M), path


def test_a_pipeline_is_registered_without_heavy_libraries() -> None:
    code = (
        "import sys; from kedro.framework.startup import bootstrap_project; from pathlib import Path;"
        "bootstrap_project(Path('.')); from fedtext.pipeline_registry import register_pipelines; register_pipelines();"
        "heavy = {'torch', 'transformers', 'trl', 'peft', 'opacus', 'sentence_transformers', 'sklearn'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
