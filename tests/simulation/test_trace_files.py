"""Files of jobs, format by format: what is read, and what is said when it cannot be."""

import io
from pathlib import Path

import pytest

from muster.queue.manifests.complaints import ManifestError, told
from muster.queue.simulation.traces import loading
from muster.queue.simulation.traces.columns import ColumnsError, parse_columns
from muster.queue.simulation.traces.job_trace import Trace, TraceJob

S = 1_000_000
HOUR = 3600 * S
GI = 2**30
GPU = "nvidia.com/gpu"


def read(text: str, columns: str = "") -> Trace:
    mapping = parse_columns(columns) if columns else {}
    return loading.load("-", mapping, io.BytesIO(text.encode()))


def refusal(text: str, columns: str = "") -> str:
    """What is said about a file, as one line without its name."""
    with pytest.raises(ManifestError) as raised:
        read(text, columns)
    lines = " ".join(line.strip() for line in told(raised.value.complaints))
    return lines.replace("standard input", "FILE")


# --- Our own columns -----------------------------------------------------------------------------

FULL = """\
name,arrival,runtime,queue,priority,pods,requests,started
train,60,1h30m,vision,100,4,"nvidia.com/gpu=2,memory=8Gi",75
"""
TRAIN = TraceJob(
    name="train",
    arrival_us=60 * S,
    runtime_us=90 * 60 * S,
    queue="vision",
    priority=100,
    pods=4,
    requests=(("memory", 8 * GI), (GPU, 2)),
    recorded_wait_us=15 * S,
)

READ = [
    ("everything", FULL, "", TRAIN),
    (
        "semicolons",
        (
            "name;arrival;runtime;queue;priority;pods;requests;started\n"
            "train;60;5400;vision;100;4;nvidia.com/gpu=2,memory=8Gi;75\n"
        ),
        "",
        TRAIN,
    ),
    (
        "JSON lines",
        (
            '{"name": "train", "arrival": 60, "runtime": "90m", "queue": "vision", "pods": 4, '
            '"priority": 100, "started": 75.0, '
            '"requests": {"nvidia.com/gpu": 2, "memory": "8Gi"}}\n\n'
        ),
        "",
        TRAIN,
    ),
    (
        "other names",
        (
            "id,submitted,seconds,team,prio,workers,gpus,ram,began\n"
            "train,60,5400,vision,100,4,2,8Gi,75\n"
        ),
        (
            "name=id,arrival=submitted,runtime=seconds,queue=team,priority=prio,pods=workers,"
            "nvidia.com/gpu=gpus,memory=ram,started=began"
        ),
        TRAIN,
    ),
    (
        "defaults",
        "arrival,runtime,requests\n0.25,10,cpu=500m\n",
        "",
        TraceJob(
            name="job-2",
            arrival_us=S // 4,
            runtime_us=10 * S,
            queue="default",
            requests=(("cpu", 500),),
        ),
    ),
    (
        "timestamps",
        (
            "arrival,runtime,requests,started\n"
            "1970-01-01T00:01:00Z,250ms,cpu=1,1970-01-01 01:02:00+01:00\n"
        ),
        "",
        TraceJob(
            name="job-2",
            arrival_us=60 * S,
            runtime_us=S // 4,
            queue="default",
            requests=(("cpu", 1000),),
            recorded_wait_us=60 * S,
        ),
    ),
    (
        "a byte order mark, a negative priority, a resource of which it asks nothing",
        "\ufeffarrival,runtime,requests,priority\n0,1,cpu=1;nvidia.com/gpu=0,-5\n",
        "",
        TraceJob(
            name="job-2",
            arrival_us=0,
            runtime_us=S,
            queue="default",
            priority=-5,
            requests=(("cpu", 1000),),
        ),
    ),
]


@pytest.mark.parametrize(
    "text, columns, job", [case[1:] for case in READ], ids=[case[0] for case in READ]
)
def test_a_job_in_columns(text: str, columns: str, job: TraceJob) -> None:
    assert read(text, columns).jobs == (job,)


HEAD = "arrival,runtime,requests\n"

REFUSED = [
    ("", "", "FILE is empty: expected a line of column names, then a line for each job"),
    (HEAD, "", "FILE has no jobs: there is only the line of column names"),
    (
        "arrival,runtim,requests\n0,1,cpu=1\n",
        "",
        (
            "FILE has no column 'runtime'. Did you mean 'runtim'? Its columns are arrival, runtim, "
            "requests. Say which is which with --columns, as in arrival=submit_time."
        ),
    ),
    (
        HEAD + "0,1,cpu=1\n",
        "queue=team",
        (
            "FILE has no column 'team'. Its columns are arrival, runtime, requests. "
            "Say which is which with --columns, as in arrival=submit_time."
        ),
    ),
    (
        HEAD + "soon,1,cpu=1\n",
        "",
        (
            "FILE:2 column arrival 'soon' is neither a number of seconds nor a time as "
            "2026-01-31T12:00:00Z"
        ),
    ),
    (
        HEAD + "0,5 minutes,cpu=1\n",
        "",
        (
            "FILE:2 column runtime '5 minutes' is not a duration: did you mean \"5m\"? "
            "(a number alone is seconds)"
        ),
    ),
    (HEAD + "0,,cpu=1\n", "", "FILE:2 column runtime is empty"),
    (
        HEAD + "0,1,cpu\n",
        "",
        "FILE:2 column requests 'cpu' is not of the form resource=quantity, as in cpu=4,memory=8Gi",
    ),
    (
        HEAD + "0,1,memory=8GB\n",
        "",
        (
            "FILE:2 column requests memory: '8GB' is not a quantity: did you mean 8G (x 1000^3) or "
            "8Gi (x 1024^3)?"
        ),
    ),
    (HEAD + "0,1,cpu=-1\n", "", "FILE:2 column requests cpu: '-1' is negative"),
    (
        "arrival,runtime,requests,pods\n0,1,cpu=1,0\n",
        "",
        "FILE:2 column pods is 0: a job has at least one pod",
    ),
    (
        "arrival,runtime,requests,pods\n0,1,cpu=1,1.5\n",
        "",
        "FILE:2 column pods '1.5' is not a whole number from 0 up",
    ),
    (
        "arrival,runtime,requests,pods\n0,1,cpu=1,99999999999\n",
        "",
        "FILE:2 column pods '99999999999' is too large: 2147483647 is the most",
    ),
    (
        "arrival,runtime,requests,started\n5,1,cpu=1,4\n",
        "",
        "FILE:2 column started is before the arrival",
    ),
    (HEAD + "0,1\n", "", "FILE:2 has 2 cells, but there are 3 columns"),
    ("arrival,runtime,arrival\n", "", "FILE:1 has two columns 'arrival'"),
    (
        "arrival,runtime\n0,1\n",
        "",
        (
            "FILE no job asks for anything. Give a column of requests (cpu=4,nvidia.com/gpu=1), or "
            "say which column holds which resource, as in --columns nvidia.com/gpu=num_gpu"
        ),
    ),
    (
        '{"arrival": 0,\n',
        "",
        "FILE:1 is not JSON: unexpected end of data: line 1 column 15 (char 14)",
    ),
    ('{"arrival": 0}\n[]\n', "", "FILE:2 expected an object, one a line, got a list"),
    ('{"arrival": true, "runtime": 1}\n', "", "FILE:1 column arrival true is not text or a number"),
]


@pytest.mark.parametrize("text, columns, message", REFUSED)
def test_a_file_that_cannot_be_used(text: str, columns: str, message: str) -> None:
    assert refusal(text, columns) == message


def test_columns_that_nobody_reads_are_named() -> None:
    text = "arrival,runtime,pod,cpus,note\n0,1,2,4,\n"

    assert read(text, "cpu=cpus").notes == ("Columns that are not read: pod and note.",)
    assert read("arrival,runtime,cpus\n0,1,4\n", "cpu=cpus").notes == ()


def test_every_mistake_is_told_at_once() -> None:
    message = refusal(HEAD + "soon,1,cpu=1\n0,late,cpu=1\n0,1,cpu=x\n")

    assert [f"FILE:{line}" in message for line in (2, 3, 4)] == [True, True, True]


@pytest.mark.parametrize(
    "text, message",
    [
        ("arrival", "'arrival' is not of the form ours=theirs"),
        ("arrival=a,arrival=b", "arrival is given twice"),
        ("runtme=d", "there is no column 'runtme'. Did you mean 'runtime'? Known are "),
        ("gpu=g", "a resource is cpu, memory or ephemeral-storage or has a domain"),
    ],
)
def test_columns_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ColumnsError) as raised:
        parse_columns(text)

    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_a_path_without_a_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ManifestError) as raised:
        loading.load(str(tmp_path / name), {}, io.BytesIO())

    assert str(tmp_path) in str(raised.value)


# --- Published formats ---------------------------------------------------------------------------

OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time\n"
)
PHILLY = "job_id,submit_time,num_gpu,duration\n"
SPOT = (
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
    "job_type\n"
)

PUBLISHED = [
    (
        "a share of a GPU",
        OPENB + "p1,6000,12288,1,460,V100M16|V100M32,LS,Running,100,400,150.0\n",
        TraceJob(
            name="p1",
            arrival_us=100 * S,
            runtime_us=250 * S,
            queue="ls",
            requests=(("cpu", 6000), ("gpu-milli", 460), ("memory", 12 * GI)),
            models=("V100M16", "V100M32"),
            recorded_wait_us=50 * S,
        ),
    ),
    (
        "whole GPUs, never scheduled",
        OPENB + "p2,1000,1024,2,1000,,BE,Pending,100,400,\n",
        TraceJob(
            name="p2",
            arrival_us=100 * S,
            runtime_us=300 * S,
            queue="be",
            requests=(("cpu", 1000), ("gpu-milli", 2000), ("memory", GI)),
        ),
    ),
    (
        "no GPU, another class of service",
        OPENB + "p3,1000,1024,0,0,,Burstable,Succeeded,0,5,0\n",
        TraceJob(
            name="p3",
            arrival_us=0,
            runtime_us=5 * S,
            queue="ls",
            requests=(("cpu", 1000), ("memory", GI)),
            recorded_wait_us=0,
        ),
    ),
    (
        "a gang of philly",
        PHILLY + "7,219316,4,1792395\n",
        TraceJob(
            name="job-7",
            arrival_us=219316 * S,
            runtime_us=1792395 * S,
            queue="philly",
            pods=4,
            requests=((GPU, 1),),
        ),
    ),
    (
        "a spot job",
        SPOT + "j1,org-1,A10,12,1,3,50,600,Spot\n",
        TraceJob(
            name="j1",
            arrival_us=50 * S,
            runtime_us=600 * S,
            queue="spot",
            pods=3,
            requests=(("cpu", 12_000), (GPU, 1)),
            models=("A10",),
        ),
    ),
]


@pytest.mark.parametrize("text, job", [c[1:] for c in PUBLISHED], ids=[c[0] for c in PUBLISHED])
def test_a_job_in_a_published_format(text: str, job: TraceJob) -> None:
    assert read(text).jobs == (job,)


def test_pods_that_were_never_scheduled_are_said_to_be_taken_for_granted() -> None:
    [note] = read(OPENB + "p2,1000,1024,2,1000,,BE,Pending,100,400,\n").notes

    assert "never scheduled where the trace was recorded (1)" in note


@pytest.mark.parametrize(
    "text, message",
    [
        (
            OPENB + "p1,1,1,0,0,,LS,Running,100,400,50\n",
            "FILE:2 column scheduled_time is not between creation_time and deletion_time",
        ),
        (SPOT + "j,o,A10,1,1,1,0,1,Low\n", "FILE:2 column job_type 'Low' is neither HP nor Spot"),
        (PHILLY + "7,0,x,1\n", "FILE:2 column num_gpu 'x' is not a whole number from 0 up"),
    ],
)
def test_a_flaw_in_a_published_format(text: str, message: str) -> None:
    assert refusal(text) == message


def test_columns_may_be_told_of_a_published_format_too() -> None:
    [job] = read(PHILLY + "7,5,4,60\n", "arrival=submit_time,runtime=duration,cpu=num_gpu").jobs

    assert (job.queue, job.requests) == ("default", (("cpu", 4000),))


# --- Slurm ---------------------------------------------------------------------------------------

SACCT = "JobID|Partition|Account|Submit|Start|Elapsed|ReqTRES|AllocTRES|Priority|State\n"


def slurm(line: str) -> TraceJob:
    [job] = read(SACCT + line + "\n").jobs
    return job


def test_a_record_of_slurm() -> None:
    job = slurm(
        "1042|gpu|lab|2026-01-31T12:00:00|2026-01-31T12:10:00|1-02:00:30|"
        "billing=16,cpu=16,gres/gpu:a100=8,gres/gpu=8,mem=64G,node=4||4294|COMPLETED"
    )

    assert job == TraceJob(
        name="1042",
        arrival_us=1_769_860_800 * S,
        runtime_us=26 * HOUR + 30 * S,
        queue="gpu",
        priority=4294,
        pods=4,
        requests=(("cpu", 4_000), ("memory", 16 * GI), (GPU, 2)),
        recorded_wait_us=600 * S,
    )


ELAPSED = [("05:00", 300), ("01:02:03", 3723), ("2-00:00:00", 172_800), ("77", 77), ("00:01.5", 1)]


@pytest.mark.parametrize("text, seconds", ELAPSED)
def test_elapsed_times_of_slurm(text: str, seconds: int) -> None:
    job = slurm(f"1|p|a|2026-01-31T12:00:00|Unknown|{text}|cpu=1|||RUNNING")

    assert (job.runtime_us, job.recorded_wait_us) == (seconds * S, None)


@pytest.mark.parametrize(
    "tres, requests",
    [
        ("cpu=3,node=2", (("cpu", 1500),)),
        ("cpu=1,mem=1500M", (("cpu", 1000), ("memory", 1500 * 2**20))),
        ("cpu=1,mem=512", (("cpu", 1000), ("memory", 512 * 2**20))),
        ("cpu=1,gres/gpu:v100=1,gres/gpu:a100=2", (("cpu", 1000), (GPU, 3))),
        ("cpu=1,license/matlab=1,billing=9,energy=12", (("cpu", 1000),)),
    ],
)
def test_resources_of_slurm(tres: str, requests: tuple[tuple[str, int], ...]) -> None:
    assert slurm(f"1|p|a|2026-01-31T12:00:00||05:00|{tres}|||FAILED").requests == requests


def test_records_that_are_no_jobs_are_counted() -> None:
    trace = read(
        SACCT
        + "1|p|a|2026-01-31T12:00:00||05:00|cpu=1|||COMPLETED\n"
        + "1.batch|||2026-01-31T12:00:00||05:00||cpu=1||COMPLETED\n"
        + "2|p|a|2026-01-31T12:00:00|None|00:00:00|cpu=1|||CANCELLED by 7\n"
        + "3|p|a|2026-01-31T12:00:00||05:00||||COMPLETED\n"
    )

    assert [job.name for job in trace.jobs] == ["1"]
    assert trace.notes == (
        "Left out: job steps (1), jobs that never ran (1), jobs without resources (1).",
    )


@pytest.mark.parametrize(
    "text, columns, queue",
    [
        (SACCT + "1|p|a|2026-01-31T12:00:00||05:00|cpu=1|||X\n", "", "p"),
        (SACCT + "1|p|a|2026-01-31T12:00:00||05:00|cpu=1|||X\n", "queue=Account", "a"),
        ("JobID|Account|Submit|ElapsedRaw|AllocTRES\n1|a|2026-01-31T12:00:00|5|cpu=1\n", "", "a"),
    ],
)
def test_the_queue_of_a_slurm_job(text: str, columns: str, queue: str) -> None:
    [job] = read(text, columns).jobs

    assert job.queue == queue


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "JobID|Submit|Partition|ReqTRES\n1|2026-01-31T12:00:00|p|cpu=1\n",
            (
                "FILE has no column 'ElapsedRaw'. Its columns are JobID, Submit, Partition, "
                "ReqTRES. Add it to the -o of sacct: it is how long a job ran."
            ),
        ),
        (
            SACCT + "1|p|a|2026-01-31T12:00:00||5 days|cpu=1|||X\n",
            "FILE:2 column Elapsed '5 days' is not [days-]hours:minutes:seconds",
        ),
        (
            SACCT + "1|p|a|2026-01-31T12:00:00||05:00|cpu=many|||X\n",
            "FILE:2 column ReqTRES 'cpu=many' is not of the form name=number",
        ),
        (
            SACCT + "1|p|a|2026-01-31T12:00:00||05:00|mem=lots|||X\n",
            "FILE:2 column ReqTRES mem=lots: 'lotsMi' is not a quantity",
        ),
        (
            SACCT + "1|p|a|2026-02-30T12:00:00||05:00|cpu=1|||X\n",
            "FILE:2 column Submit '2026-02-30T12:00:00Z'",
        ),
    ],
)
def test_a_flaw_in_slurm_records(text: str, message: str) -> None:
    assert refusal(text).startswith(message)
