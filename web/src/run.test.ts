import { expect, test } from "vitest";
import { isLive, newRun, type RunView, runOfRecord, withEvent } from "./run";
import { initialState, reduce } from "./state";
import type { Answer, RunEvent, RunRecord, SeenPassage } from "./types";

type Bare = RunEvent extends infer E ? (E extends RunEvent ? Omit<E, "run"> : never) : never;

const after = (run: RunView, ...events: Bare[]): RunView =>
  events.reduce((view, event) => withEvent(view, { run: "r1", ...event } as RunEvent), run);

const asked = (workflow = "auto"): RunView => ({
  ...newRun("How deep?", "default", workflow),
  id: "r1",
});

const passage = (id: string, kept = true) => ({ id, document: id, kept }) as SeenPassage;

const answer = (changes: Partial<Answer> = {}): Answer =>
  ({
    run: "r1",
    workflow: "auto",
    status: "answered",
    claims: [],
    steps: [],
    queries: ["q"],
    passages: [],
    warnings: [],
    ...changes,
  }) as unknown as Answer;

const finished = (node: string, workflow?: string): Bare => ({
  type: "node_finished",
  node,
  workflow: workflow ?? null,
  said: `${node} is done`,
  numbers: {},
  seconds: 0.1,
});

test("queued, then running: the place in the queue is let go", () => {
  const queued = after(asked(), { type: "queued", position: 3 });
  expect([queued.phase, queued.position]).toEqual(["queued", 3]);
  const running = after(queued, { type: "run_started", question: "How deep?", workflow: "auto" });
  expect([running.phase, running.position]).toEqual(["running", null]);
});

test("what auto chose is known from the route of its chooser, with the reason", () => {
  const run = after(
    asked(),
    { type: "node_started", node: "consider", workflow: "auto" },
    finished("consider", "auto"),
    { type: "routed", source: "consider", to: "corrective", why: "two facts", workflow: "auto" },
  );
  expect(run.chosen).toEqual({ workflow: "corrective", why: "two facts" });
  expect(run.steps[0]?.route).toEqual({ to: "corrective", why: "two facts" });
});

test("a route of another workflow does not choose", () => {
  const run = after(asked("corrective"), finished("consider"), {
    type: "routed",
    source: "consider",
    to: "answer",
    why: "x",
  });
  expect(run.chosen).toBeNull();
});

test("a node that is visited again is a step of its own", () => {
  const visit: Bare = { type: "node_started", node: "retrieve", workflow: "corrective" };
  const run = after(asked(), visit, finished("retrieve", "corrective"), visit);
  expect(run.steps.map((step) => step.state)).toEqual(["done", "running"]);
});

test("the same node of two workflows at once is told apart", () => {
  const run = after(
    asked(),
    { type: "node_started", node: "finish", workflow: "linear" },
    { type: "node_started", node: "finish", workflow: "analyst" },
    finished("finish", "linear"),
  );
  expect(run.steps.map(({ workflow, state }) => [workflow, state])).toEqual([
    ["linear", "done"],
    ["analyst", "running"],
  ]);
});

test("tokens make a draft, and a redraft withdraws it", () => {
  const run = after(asked(), { type: "token", text: "It is " }, { type: "token", text: "deep." });
  expect(run.draft).toBe("It is deep.");
  const anew = after(run, { type: "redrafted", why: "a number is not in the source" });
  expect([anew.draft, anew.redraftedBecause]).toEqual(["", "a number is not in the source"]);
});

test("a passage that is found again stands once, as it was seen last", () => {
  const run = after(
    asked(),
    { type: "passages_found", query: "a", passages: [passage("1"), passage("2")] },
    { type: "passages_found", query: "b", passages: [passage("2", false), passage("3")] },
  );
  expect(run.passages.map(({ id, kept }) => [id, kept])).toEqual([
    ["2", false],
    ["3", true],
    ["1", true],
  ]);
  expect(run.queries).toEqual(["a", "b"]);
});

test("what arrives after Stop does not take the stopping back; the end does", () => {
  const stopping: RunView = { ...asked(), phase: "stopping" };
  const started: Bare = { type: "run_started", question: "q", workflow: "auto" };
  expect(after(stopping, started).phase).toBe("stopping");
  expect(after(stopping, { type: "stopped", why: "cancelled" }).phase).toBe("stopped");
});

test("a run that cannot be carried out says why", () => {
  const problem = { status: 404, code: "document_missing", detail: "no document 'x'" };
  const run = after(asked(), { type: "stopped", why: "no document 'x'", problem });
  expect(run).toMatchObject({ phase: "lost", problem: { code: "document_missing", status: 404 } });
});

test("the answer ends the run, and its steps are the ones that count", () => {
  const step = { node: "consider", workflow: "auto", said: "s", numbers: {}, seconds: 1 };
  const steps = [{ ...step, route: { to: "analyst", why: "a number is asked for" } }];
  const run = after(
    asked(),
    { type: "token", text: "x" },
    { type: "answered", answer: answer({ steps }) },
  );
  expect([run.phase, run.draft, isLive(run)]).toEqual(["done", "", false]);
  expect(run.chosen?.workflow).toBe("analyst");
});

test("an answer to a question that auto handed on is still one of auto", () => {
  const bare = { said: "s", numbers: {}, seconds: 1, route: null };
  const route = { to: "corrective", why: "one fact" };
  const steps = [
    { ...bare, node: "consider", workflow: null, route },
    { ...bare, node: "retrieve", workflow: "corrective" },
    { ...bare, node: "finish", workflow: null },
  ];
  const run = after(asked(""), {
    type: "answered",
    answer: answer({ steps, workflow: "corrective" }),
  });
  expect(run.workflow).toBe("auto");
  expect(run.chosen).toEqual({ workflow: "corrective", why: "one fact" });
  expect(run.steps.map((step) => step.workflow)).toEqual(["auto", "corrective", "auto"]);
});

test("steps of a workflow that somebody chose are of that one", () => {
  const step = { node: "answer", workflow: null, said: "s", numbers: {}, seconds: 1, route: null };
  const given = answer({ steps: [step], workflow: "linear" });
  const run = after(asked("linear"), { type: "answered", answer: given });
  expect([run.workflow, run.chosen, run.steps[0]?.workflow]).toEqual(["linear", null, "linear"]);
});

test("events of a newer server are passed over", () => {
  const run = asked();
  expect(withEvent(run, { type: "sang", run: "r1" } as unknown as RunEvent)).toBe(run);
});

test("a record shows as the run that it was", () => {
  const record: RunRecord = {
    id: "r1",
    question: "q",
    workflow: "auto",
    status: "interrupted",
    position: null,
    started: "",
    after: "r0",
    library: "default",
    feedback: null,
    answer: null,
  };
  expect(runOfRecord(record)).toMatchObject({ phase: "interrupted", after: "r0", id: "r1" });
  expect(runOfRecord({ ...record, status: "running" }).phase).toBe("running");
  expect(runOfRecord({ ...record, status: "answered", answer: answer() }).phase).toBe("done");
});

test("events of a run that is no longer on the page change nothing", () => {
  const state = { ...initialState, run: asked() };
  const events: RunEvent[] = [{ type: "token", run: "r0", text: "x" }];
  expect(reduce(state, { type: "events", id: "r0", events })).toBe(state);
  expect(reduce(state, { type: "events", id: "r1", events }).run?.draft).toBe("x");
});

test("a document that is gone no longer limits the question", () => {
  const state = { ...initialState, limitedTo: ["a", "b"] };
  const documents = [{ id: "b" }] as never;
  const next = reduce(state, { type: "documents", library: "default", documents, jobs: [] });
  expect(next.limitedTo).toEqual(["b"]);
});

test("opening a source closes a table, and closing it shows how the answer was made", () => {
  const table = reduce(initialState, { type: "table", table: "t" });
  expect([table.panel, table.table]).toEqual(["source", "t"]);
  const source = reduce(table, { type: "source", source: { document: "d" } as never });
  expect([source.table, source.panel]).toEqual([null, "source"]);
  expect(reduce(source, { type: "source", source: null }).panel).toBe("made");
});
