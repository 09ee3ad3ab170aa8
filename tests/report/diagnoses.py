"""Hand-made diagnoses that show everything a report can show."""

from __future__ import annotations

from dataclasses import replace

from tests.support import PACK, finding, location
from xladoctor.diagnosis.device_use import DeviceOp, DeviceScope, DeviceUse, LabelTime
from xladoctor.diagnosis.finding import Cost, Ignored, NotChecked, Saving, Tried
from xladoctor.diagnosis.interface import (
    Consumer,
    Count,
    Diagnosis,
    Explained,
    LineTime,
    RuleOutcomes,
    RunFacts,
    StepGroup,
    Steps,
    TimeParts,
    TimeSpent,
    Tool,
    Unexplained,
    Verdict,
)
from xladoctor.diagnosis.memory_use import HeldMemory, Memory, ProgramMemory
from xladoctor.diagnosis.sharding_use import DividedArray, DividedProgram, Movement
from xladoctor.gate.interface import (
    BudgetOutcome,
    GateOutcome,
    Judgement,
    Missing,
    Repeated,
    StaleEntry,
)
from xladoctor.report.interface import Report

MEMORY = Memory(
    [
        ProgramMemory(
            "train_step",
            location("train.py", 41),
            "TPU",
            150 << 20,
            3,
            [
                HeldMemory(
                    "activation", "tanh f32[8,2048,512]", location("größe.py", 12), 96 << 20, 3
                ),
                HeldMemory("parameters", "state.params…", None, 30 << 20, 24, reused=True),
                HeldMemory("optimizer state", "state.opt_state…", None, 20 << 20, 48),
                HeldMemory("temporary", "dot_general f32[512,512]", None, 3 << 20, 1),
                HeldMemory("unused", "", None, 1 << 20, 1),
                HeldMemory("constant", "", None, 96, 4),
            ],
        ),
        ProgramMemory("evaluate", None, "TPU", 20 << 20, 1, []),
        ProgramMemory("add", None, "TPU", 20 << 10, 1, []),
    ]
)
SHARDINGS = [
    DividedProgram(
        "train_step",
        location("train.py", 41),
        8,
        "data=4, model=2",
        2,
        1.0,
        [
            DividedArray(
                "argument",
                "params['layers'][*]['w']",
                12,
                "f32",
                [512, 512],
                12 << 20,
                3 << 20,
                "('data', None)",
                2,
                "",
            ),
            DividedArray("argument", "f32[64]", 3, "f32", [64], 768, 768, "(None,)", 8, ""),
            DividedArray(
                "result",
                "result[0]['head']",
                1,
                "bf16",
                [512, 1024],
                1 << 20,
                1 << 19,
                "('model', None)",
                4,
                "(None, None)",
            ),
        ],
        [
            Movement("data", "all-gather", "argument", 9 << 20, 12, location("größe.py", 12)),
            Movement("model", "all-reduce", "gradients", 3 << 20, 2, location("model.py", 7)),
            Movement("data", "all-to-all", "reshard", 2 << 20, 1, location("model.py", 9)),
            Movement("4 devices", "all-gather", "asked", 1 << 19, 2, None),
        ],
    ),
    DividedProgram(
        "evaluate",
        location("train.py", 44),
        8,
        "",
        1,
        0.25,
        [],
        [Movement("8 devices", "all-reduce", "sums", 4 << 20, 1, location("model.py", 8))],
    ),
    DividedProgram(
        "add",
        None,
        8,
        "",
        1,
        None,
        [DividedArray("argument", "x", 1, "f32", [8], 32, 4, "('data',)", 1, "")],
        [],
    ),
]
SICK = Diagnosis(
    schema_version=3,
    tool=Tool("xladoctor", "0.1.0"),
    memory=MEMORY,
    shardings=SHARDINGS,
    run=RunFacts(
        "run",
        "runs/2026-01-05-train",
        ["python", "train.py", "--größe", "3"],
        None,
        9,
        2,
        "TPU",
        8,
        "torch_xla",
        {"torch": "2.9.0", "torch_xla": "2.9.0"},
        "train.py",
        "/home/größe/code",
        "/home/größe/code",
    ),
    verdict=Verdict(
        "compilation", "45% of the run's 12.5 s went to compiling graphs; 3 findings to fix."
    ),
    time=TimeSpent(
        12.5,
        10.0,
        TimeParts(
            startup_s=2.2,
            warmup_compile_s=0.5,
            compile_s=5.6,
            read_s=1.2,
            barrier_s=0.9,
            input_s=0.04,
            upload_s=0.1,
            tracing_s=1.3,
            python_s=0.36,
            after_s=0.3,
        ),
        0.5,
        1.8,
        Explained(0.9, 2.5, 7.2, 1.5, 0.968),
        [
            Unexplained(
                "tracing", 1.3, [LineTime("model.py", 41, 0.9), LineTime("model.py", 52, 0.2)]
            ),
            Unexplained("python", 0.36),
        ],
    ),
    steps=Steps(40, 3, 12.1),
    step_groups=[
        StepGroup(n, 2, *times)
        for n, times in zip(
            range(0, 40, 2),
            (
                [(350.0, 500.0)]
                + [(12.1 + n, 0.0) for n in range(17)]
                + [(340.0, 320.0), (90.0, 5.0)]
            ),
            strict=True,
        )
    ],
    devices=[
        DeviceUse(
            "0",
            0,
            "/device:TPU:0",
            "TPU",
            37,
            0.34,
            {"compile": 0.41, "wait": 0.004, "tracing": 0.246},
            [
                DeviceOp("jit_train", "fusion.7", 40, 0.9, 0.62),
                DeviceOp(None, "all-größe.2", 40, 0.5, 0.34),
            ],
            [DeviceScope("encoder > größe", 1.1, 0.7), DeviceScope("update", 0.3, 0.2)],
        ),
        DeviceUse("0", 1, "/device:TPU:1", "TPU", 37, 0.5, {"other": 0.5}, [], []),
    ],
    counts=[
        Count(
            "compilations_after_warmup",
            17.0,
            None,
            [
                Consumer(location("data.py", 88, function="load"), 16.0, 16, "input shape"),
                Consumer(location(), 1.0, 1, "unknown"),
            ],
        ),
        Count("host_syncs_per_step", 1.0, None, [Consumer(location(), 1.0, 40, "item")]),
        Count("fallbacks_per_step", None, "no counters"),
        Count("barriers_per_step", 1.0),
        Count("peak_memory", 786432.0),
        Count("step_ms", 12.1),
    ],
    findings=[
        finding(
            "XD101",
            name="recompilation-after-warm-up",
            severity="error",
            severity_by_counts="error",
            title="Graph compiled again after warm-up",
            count=17,
            per_step=0.425,
            processes=["0", "1"],
            cost=Cost(6.1, 0.61, "measured"),
            saving=Saving(6.1, 152.5, 0.61, "bound"),
            locations=[
                location(source="    torch_xla.sync()"),
                location(
                    "data.py",
                    88,
                    function="load",
                    role="made",
                    source="    return torch.tensor(a_rather_long_expression_of_many_words)"
                    ".to(device, non_blocking=True)  # and a comment",
                ),
            ],
            message="17 of 40 launches compiled a new graph: the input made at data.py:88 changed"
            " shape, last from f32[16,64] to f32[17,64]; dimension 0 took 7 values: 1, 2, …",
            fix="Pad each batch\nto one length — or to a few buckets.",
        ),
        finding(
            tried=Tried(
                "sum `total` on the device, and read it once", "verified", 1.6, 0.231, 6.77, 4.84
            ),
            severity="warning",
            cost=Cost(0.04, 0.004, "estimate"),
            saving=Saving(0.04, 1.0, 0.004, "bound"),
            per_step=None,
            locations=[
                location(
                    "venv/lib/python3.11/site-packages/some_library/with_a_long_name/core.py",
                    120,
                    function="clip",
                ),
                location(
                    "train.py",
                    44,
                    function="<module>",
                    role="caller",
                    source="clip(model)  # größe",
                ),
            ],
            consequences=["each read runs a second, smaller program"],
        ),
        finding(
            "XD701",
            name="debugging-setting-left-on",
            title="Debugging setting left on",
            count=1,
            per_step=None,
            locations=[],
            cost=Cost(None, None, "none"),
            saving=Saving(None, None, None, "none"),
            message="XLA_IR_DEBUG=1 is set.",
            about="run",
        ),
        finding(
            "XD203",
            severity="info",
            severity_by_counts="info",
            title="Tensor copied to the host in the step loop",
            cost=Cost(0.0003, 0.00003, "bound"),
            saving=Saving(0.0003, 0.0075, 0.00003, "bound"),
            locations=[location(line=60, function=None, role="guilty")],
        ),
    ],
    rules=RuleOutcomes(["XD101", "XD201", "XD203", "XD701"], ["XD102", "XD301"], ["XD401"]),
    not_checked=[NotChecked("XD401", "no counters (metrics report or step log)")],
    ignored=[
        Ignored("XD202", "train.py", 70, "logged on purpose"),
        Ignored("XD202", "train.py", 71, ""),
    ],
    labels=[
        LabelTime("train", 40, 9.1, 0.4, 40, 1.1, 7.9),
        LabelTime("train > forward größe", 40, 6.2, 6.2, 0, 0.0, 6.2),
        LabelTime("log", 400, 0.04, 0.04, 0, 0.0, None),
    ],
    warnings=[
        "runs/2026-01-05-train/process-42/steps.jsonl, line 90: not a step-log line (cut"
        " off?); skipped"
    ],
    pack=PACK,
)

#: A pasted report without any finding: nothing is known of time, steps and program.
TEXT = Diagnosis(
    schema_version=3,
    tool=Tool("xladoctor", "0.1.0"),
    run=RunFacts("text", "report.txt"),
    verdict=Verdict(
        "unknown",
        "This evidence has no times of steps, so it is not known what"
        " limits the program; nothing to fix.",
    ),
    time=TimeSpent(None, None, None, None),
    steps=None,
    devices=[],
    counts=[],
    findings=[],
    rules=RuleOutcomes([], ["XD101"], ["XD301"]),
    not_checked=[NotChecked("XD301", "no step log")],
    ignored=[],
    warnings=[],
    pack=PACK,
)

#: The gate's decision on it: each state of a finding and of a budget.
GATED = Report(
    replace(
        SICK,
        findings=[
            *SICK.findings,
            finding(
                "XD102",
                name="data-dependent-shape",
                severity="error",
                severity_by_counts="error",
                title="Operator whose result shape depends on the data",
                count=3,
                cost=Cost(2.0, 0.2, "measured"),
                saving=Saving(2.0, 50.0, 0.2, "bound"),
                locations=[location("../shared/a model.py", 7, function="forward")],
            ),
            finding(
                "XD903",
                name="step-time-outlier",
                title="Some steps take much longer",
                severity_by_counts="info",
                cost=Cost(0.2, 0.02, "measured"),
                saving=Saving(None, None, None, "none"),
                locations=[location(line=90)],
            ),
        ],
    ),
    GateOutcome(
        status="failed",
        script="train.py",
        fail_on="warning",
        baseline="xladoctor.lock",
        judgements=[
            Judgement("XD101-0", "XD101", True, "new", "not in the baseline"),
            Judgement("XD201-0", "XD201", False, "known", "in the baseline"),
            Judgement("XD701-0", "XD701", True, "worse", "2 times, in the baseline once"),
            Judgement("XD203-0", "XD203", False, "tolerated", "below warning"),
            Judgement("XD102-0", "XD102", False, "acknowledged", "a | research | branch"),
            Judgement("XD903-0", "XD903", False, "not_judged", "judged by time"),
        ],
        budgets=[
            BudgetOutcome(
                "max_compilations_after_warmup",
                "compilations_after_warmup",
                0,
                17.0,
                "over",
                "",
                SICK.counts[0].consumers,
            ),
            BudgetOutcome(
                "max_host_syncs_per_step",
                "host_syncs_per_step",
                0.5,
                1.0,
                "acknowledged",
                "read on purpose",
                SICK.counts[1].consumers,
            ),
            BudgetOutcome(
                "max_fallbacks_per_step", "fallbacks_per_step", 0, None, "unknown", "no counters"
            ),
            BudgetOutcome("max_peak_memory", "peak_memory", 1e6, 786432.0, "within"),
        ],
        missing=[
            Missing("XD401", "no counters (metrics report or step log)"),
            Missing("max_fallbacks_per_step", "no counters"),
        ],
        gone=[StaleEntry("0123456789abcdef", "XD202", "train.py", "print(loss)", True)],
        notes=["the acknowledgement of XD301 expired on 2026-01-01"],
        runs=[Repeated("step_ms", [12.0, 12.25, None], 12.125)],
    ),
)
