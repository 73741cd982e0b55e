"""The package openml against a server on this machine: no test leaves it."""

import hashlib
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ogive.data.datasets.load import load_dataset, load_datasets
from ogive.errors import FileError, InputError

ARFF = b"""@relation toy
@attribute x numeric
@attribute class {yes, no}
@data
0.5,yes
?,no
1.5,yes
2.5,no
"""
SPACE = 'xmlns:oml="http://openml.org/openml"'


def description(port, number):
    return f"""<oml:data_set_description {SPACE}><oml:id>{number}</oml:id><oml:name>toy</oml:name>
<oml:version>1</oml:version><oml:description>d</oml:description><oml:format>ARFF</oml:format>
<oml:url>http://127.0.0.1:{port}/files/{number}.arff</oml:url>
<oml:parquet_url>http://127.0.0.1:{port}/never/asked/for.pq</oml:parquet_url>
<oml:default_target_attribute>class</oml:default_target_attribute>
<oml:md5_checksum>{hashlib.md5(ARFF).hexdigest()}</oml:md5_checksum>
</oml:data_set_description>"""  # noqa: S324


def feature(index, name, kind, values=""):
    return f"""<oml:feature><oml:index>{index}</oml:index><oml:name>{name}</oml:name>
<oml:data_type>{kind}</oml:data_type>{values}<oml:is_target>false</oml:is_target>
<oml:is_ignore>false</oml:is_ignore><oml:is_row_identifier>false</oml:is_row_identifier>
<oml:number_of_missing_values>0</oml:number_of_missing_values></oml:feature>"""


VALUES = "<oml:nominal_value>yes</oml:nominal_value><oml:nominal_value>no</oml:nominal_value>"
FEATURES = (
    f"<oml:data_features {SPACE}>{feature(0, 'x', 'numeric')}"
    f"{feature(1, 'class', 'nominal', VALUES)}</oml:data_features>"
)


def task(number, kind):
    return f"""<oml:task {SPACE}><oml:task_id>{number}</oml:task_id>
<oml:task_name>t</oml:task_name><oml:task_type_id>{kind}</oml:task_type_id>
<oml:task_type>{["", "Supervised Classification", "Supervised Regression"][kind]}</oml:task_type>
<oml:input name="source_data"><oml:data_set><oml:data_set_id>61</oml:data_set_id>
<oml:target_feature>class</oml:target_feature></oml:data_set></oml:input>
<oml:input name="estimation_procedure"><oml:estimation_procedure><oml:id>1</oml:id>
<oml:type>crossvalidation</oml:type><oml:data_splits_url>http://127.0.0.1/none</oml:data_splits_url>
<oml:parameter name="number_repeats">1</oml:parameter>
<oml:parameter name="number_folds">10</oml:parameter></oml:estimation_procedure></oml:input>
</oml:task>"""


SUITE = f"""<oml:study {SPACE}><oml:id>99</oml:id><oml:alias>OpenML-CC18</oml:alias>
<oml:main_entity_type>task</oml:main_entity_type><oml:name>n</oml:name>
<oml:description>d</oml:description><oml:status>active</oml:status>
<oml:creation_date>2019</oml:creation_date><oml:creator>1</oml:creator>
<oml:data><oml:data_id>61</oml:data_id></oml:data>
<oml:tasks><oml:task_id>31</oml:task_id></oml:tasks></oml:study>"""


def unknown(code, message):
    return f"""<oml:error {SPACE}><oml:code>{code}</oml:code>
<oml:message>{message}</oml:message></oml:error>"""


class Handler(BaseHTTPRequestHandler):
    """Answers like OpenML: data sets 61 (whole), 62 (cut short), 63 (altered); tasks; a suite."""

    def do_GET(self):
        port = self.server.server_address[1]
        path = self.path.partition("?")[0].removeprefix("/api")
        pages = {f"/data/{n}": description(port, n).encode() for n in (61, 62, 63)}
        pages |= {
            "/files/61.arff": ARFF,
            "/files/62.arff": ARFF,
            "/files/63.arff": ARFF.replace(b"0.5", b"9.5"),
            "/data/features/61": FEATURES.encode(),
            "/task/31": task(31, 1).encode(),
            "/task/32": task(32, 2).encode(),
            "/study/99": SUITE.encode(),
            "/study/OpenML-CC18": SUITE.encode(),
        }
        self.server.asked.append(path)
        found = path in pages
        missing = (151, "Unknown task") if path == "/task/33" else (111, "Unknown dataset")
        content = pages.get(path, unknown(*missing).encode())
        self.send_response(200 if found else 412)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:-10] if path == "/files/62.arff" else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """The package openml, asking a server on this machine; its list of what it was asked."""
    for name in ("OPENML_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "openml-package"))
    monkeypatch.setenv("OGIVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    openml = pytest.importorskip("openml")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    monkeypatch.setattr(openml.config, "server", f"http://127.0.0.1:{server.server_port}/api")
    monkeypatch.setattr(openml.config, "connection_n_retries", 1)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_data_set_is_downloaded_once(served):
    first = load_dataset("openml:61")
    asked = list(served)
    again = load_dataset("openml:61")
    assert (first.name, list(first.target)) == ("toy", ["yes", "no", "yes", "no"])
    assert list(again.target) == list(first.target)
    assert served == asked == ["/data/61", "/files/61.arff"]


def test_a_task_and_a_suite_lead_to_their_data_sets(served):
    assert load_dataset("openml-task:31").target.name == "class"
    assert [dataset.name for dataset in load_datasets("openml-suite:99")] == ["toy"]
    assert [dataset.name for dataset in load_datasets("openml-suite:OpenML-CC18")] == ["toy"]


def test_the_settings_of_the_package_are_as_before(served):
    import openml

    before = openml.config.get_config_as_dict()
    load_dataset("openml:61")
    with pytest.raises(InputError):
        load_dataset("openml:404")
    assert openml.config.get_config_as_dict() == before


@pytest.mark.parametrize("source", ["openml:404", "openml-task:404", "openml-suite:404"])
def test_an_unknown_number_says_so(served, source):
    with pytest.raises(InputError, match=r"OpenML returned no .* 404: Unknown.*Check the number"):
        load_datasets(source)


@pytest.mark.parametrize("number", [62, 63])
def test_a_download_that_is_cut_short_or_altered_is_not_kept(served, number, tmp_path):
    with pytest.raises(FileError, match=r"could not be downloaded.*try again"):
        load_dataset(f"openml:{number}")
    assert not (tmp_path / "cache").exists()


def test_a_regression_task_is_refused(served):
    with pytest.raises(InputError, match="'Supervised Regression'"):
        load_dataset("openml-task:32")


def test_a_server_out_of_reach_says_so(served, monkeypatch):
    import openml

    monkeypatch.setattr(openml.config, "server", "http://127.0.0.1:9/api")
    with pytest.raises(FileError, match="could not be downloaded"):
        load_dataset("openml:61")


def test_a_full_disk_is_not_blamed_on_the_network(served, monkeypatch):
    import openml

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(openml.datasets, "get_dataset", full)
    with pytest.raises(FileError, match=r"no space left on the disk for OpenML data.*TMPDIR"):
        load_dataset("openml:61")


def test_an_error_says_no_more_than_is_known(served):
    with pytest.raises(InputError, match=r"no task 33: Unknown task \(code 151\)"):
        load_dataset("openml-task:33")


def test_an_api_key_is_in_no_message(served, monkeypatch):
    import openml

    monkeypatch.setattr(openml.config, "apikey", "0123456789abcdef")
    monkeypatch.setattr(openml.config, "server", "http://127.0.0.1:9/api")
    with pytest.raises(FileError, match="could not be downloaded") as caught:
        load_dataset("openml:61")
    assert "0123456789abcdef" not in "".join(traceback.format_exception(caught.value))
