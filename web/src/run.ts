/** One run as the page shows it: made from its events while it goes on, or from its answer. */

import { type Problem, problemFrom } from "./api";
import type { Answer, Feedback, RunEvent, RunRecord, Scalar, SeenPassage, Trouble } from "./types";

export type Phase =
  | "asking" // sent, the server has not said its id yet
  | "queued"
  | "running"
  | "stopping"
  | "done" // has an answer, whatever its status
  | "stopped" // by the person: can be taken up again
  | "interrupted" // by a stop that is long past, or the server went away: can be taken up again
  | "lost"; // could not be asked or read: see `problem`

export interface StepView {
  node: string;
  /** The workflow whose graph the node is of. */
  workflow: string;
  state: "running" | "done";
  said: string;
  numbers: Record<string, Scalar>;
  seconds: number;
  route: { to: string; why: string } | null;
}

export interface RunView {
  id: string | null;
  question: string;
  library: string;
  /** As asked for; what `auto` chose is in `chosen`. */
  workflow: string;
  /** The workflow that does the work, once known, and why it was chosen. */
  chosen: { workflow: string; why: string } | null;
  phase: Phase;
  position: number | null;
  steps: StepView[];
  queries: string[];
  passages: SeenPassage[];
  draft: string;
  redraftedBecause: string | null;
  warnings: Trouble[];
  answer: Answer | null;
  problem: Problem | null;
  stoppedBecause: string | null;
  /** The run before it in the conversation. */
  after: string | null;
  /** Documents that it was told to read although they give a model orders. */
  trust: string[];
  /** What the person said of the answer. */
  feedback: Feedback | null;
  /** False while the line to the server is cut. */
  connected: boolean;
}

/** The node of `auto` that chooses. */
export const CHOOSER = "consider";
export const AUTO = "auto";

export function newRun(question: string, library: string, workflow: string): RunView {
  return {
    id: null,
    question,
    library,
    workflow,
    chosen: null,
    phase: "asking",
    position: null,
    steps: [],
    queries: [],
    passages: [],
    draft: "",
    redraftedBecause: null,
    warnings: [],
    answer: null,
    problem: null,
    stoppedBecause: null,
    after: null,
    trust: [],
    feedback: null,
    connected: true,
  };
}

export const isLive = (run: RunView): boolean =>
  ["asking", "queued", "running", "stopping"].includes(run.phase);

/** A run as the server remembers it. */
export function runOfRecord(record: RunRecord): RunView {
  const bare: RunView = {
    ...newRun(record.question, record.library ?? "default", record.workflow ?? ""),
    id: record.id,
    after: record.after,
    feedback: record.feedback,
    position: record.position,
    phase: phaseOf(record),
  };
  return record.answer ? withAnswer(bare, record.answer) : bare;
}

function phaseOf(record: RunRecord): Phase {
  if (record.answer) return "done";
  switch (record.status) {
    case "queued":
    case "running":
    case "interrupted":
    case "stopped":
      return record.status;
    default:
      return "interrupted";
  }
}

export function withEvent(run: RunView, event: RunEvent): RunView {
  switch (event.type) {
    case "queued":
      return { ...run, phase: live(run, "queued"), position: event.position };
    case "run_started":
      return { ...run, phase: live(run, "running"), position: null, workflow: event.workflow };
    case "node_started":
      return { ...run, steps: [...run.steps, startedStep(run, event)] };
    case "node_finished":
      return { ...run, steps: finishStep(run, event) };
    case "routed":
      return withRoute(run, event);
    case "passages_found":
      return withPassages(run, event.query, event.passages);
    case "token":
      return { ...run, draft: run.draft + event.text };
    case "redrafted":
      return { ...run, draft: "", redraftedBecause: event.why };
    case "warned":
      return { ...run, warnings: [...run.warnings, event.trouble] };
    case "answered":
      return withAnswer(run, event.answer);
    case "stopped":
      return withStop(run, event);
    default:
      return run; // of a newer server: what is not known is not shown
  }
}

/** Events that arrive after the person pressed Stop do not take that back; a run that was stopped
 * and goes on begins with one. */
const live = (run: RunView, phase: Phase): Phase => (run.phase === "stopping" ? "stopping" : phase);

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

function startedStep(run: RunView, event: Of<"node_started">): StepView {
  const workflow = event.workflow ?? run.workflow;
  const none = { said: "", numbers: {}, seconds: 0, route: null };
  return { node: event.node, workflow, state: "running", ...none };
}

function finishStep(run: RunView, event: Of<"node_finished">): StepView[] {
  const { node, said, numbers, seconds } = event;
  const workflow = event.workflow ?? run.workflow;
  const done: StepView = { node, workflow, state: "done", said, numbers, seconds, route: null };
  const place = run.steps.findLastIndex(
    (step) => step.node === node && step.workflow === workflow && step.state === "running",
  );
  return place < 0 ? [...run.steps, done] : run.steps.with(place, done);
}

function withRoute(run: RunView, event: Of<"routed">): RunView {
  const route = { to: event.to, why: event.why };
  const workflow = event.workflow ?? run.workflow;
  const place = run.steps.findLastIndex(
    (step) => step.node === event.source && step.workflow === workflow,
  );
  const step = run.steps[place];
  const steps = step ? run.steps.with(place, { ...step, route }) : run.steps;
  const chosen = chosenBy(run.workflow, event.source, route) ?? run.chosen;
  return { ...run, steps, chosen };
}

function chosenBy(workflow: string, node: string, route: { to: string; why: string }) {
  if (workflow !== AUTO || node !== CHOOSER) return null;
  return { workflow: route.to, why: route.why };
}

function withPassages(run: RunView, query: string, found: SeenPassage[]): RunView {
  const fresh = new Map(found.map((passage) => [passage.id, passage]));
  const kept = run.passages.filter((passage) => !fresh.has(passage.id));
  return { ...run, queries: [...run.queries, query], passages: [...found, ...kept] };
}

/** Ended without an answer: by somebody, or because it cannot be carried out at all. */
function withStop(run: RunView, { why, problem }: Of<"stopped">): RunView {
  const ended = { ...run, position: null, stoppedBecause: why };
  if (!problem) return { ...ended, phase: "stopped" };
  return { ...ended, phase: "lost", problem: problemFrom(problem, problem.status ?? 0) };
}

/** An answer names the workflow that gave it, also where `auto` chose that one. Steps that name none
 * are then of `auto`, which considered the question and finished the answer. */
function withAnswer(run: RunView, answer: Answer): RunView {
  const choosing = answer.steps.find(
    (step) => step.node === CHOOSER && (step.workflow ?? AUTO) === AUTO,
  );
  const workflow = choosing ? AUTO : answer.workflow;
  const steps = answer.steps.map(
    (step): StepView => ({ ...step, workflow: step.workflow ?? workflow, state: "done" }),
  );
  const route = choosing?.route;
  return {
    ...run,
    phase: "done",
    position: null,
    workflow,
    chosen: route ? { workflow: route.to, why: route.why } : run.chosen,
    steps: steps.length > 0 ? steps : run.steps,
    queries: answer.queries,
    passages: answer.passages,
    warnings: answer.warnings,
    draft: "",
    answer,
    connected: true,
  };
}
