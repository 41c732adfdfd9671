/** What the page says of a run and of its answer, in plain sentences. */

import { count, modelCalls, nodeName, pageOf, percent, seconds } from "../parts/words";
import { AUTO, type RunView } from "../run";
import type { Analysis, Answer, Citation, Claim, Computation, ResultTable } from "../types";

const DOING: Record<string, string> = {
  consider: "Choosing how to go about it",
  retrieve: "Searching your documents",
  rerank: "Reading the passages that were found",
  grade: "Checking which passages are about the question",
  follow: "Following what the best passage names",
  fall_back: "Searching again, closer to your words",
  rewrite: "Looking for better words to search with",
  search_again: "Searching again",
  search_web: "Searching the web",
  search_step: "Searching for this step",
  split: "Seeing whether these are several questions",
  ask_part: "Answering a part of the question",
  answer: "Writing the answer from its passages",
  check_grounded: "Checking each sentence against its source",
  check_useful: "Checking that it answers the question",
  regenerate: "Writing it again, closer to the sources",
  settle: "Weighing the drafts",
  screen: "Checking the question itself",
  recall: "Looking for earlier research on this",
  classify: "Seeing how much research it takes",
  plan: "Planning the steps",
  replan: "Planning what is still missing",
  synthesise: "Putting the findings into words",
  evaluate: "Checking what was found",
  aggregate: "Bringing the findings together",
  choose: "Weighing the options",
  lay_out: "Looking at your tables",
  understand: "Reading the question",
  requirements: "Working out what the question needs",
  profile: "Looking into the columns",
  align: "Checking that the tables can answer it",
  compute: "Computing",
  write_code: "Writing the code",
  code: "Writing the code",
  run_code: "Running the code in the sandbox",
  execute: "Running the code in the sandbox",
  explain: "Putting the result into words",
  combine_kinds: "Bringing documents and tables together",
  finish: "Finishing",
};

/** What is being done right now, as a person would say it. */
export function doing(run: RunView): string {
  if (run.phase === "asking") return "Sending the question";
  if (run.phase === "stopping") return "Stopping";
  if (run.phase === "queued") return queued(run.position);
  if (!run.connected) return "Connection lost. Reconnecting ...";
  const step = run.steps.findLast((one) => one.state === "running") ?? run.steps.at(-1);
  return step ? (DOING[step.node] ?? nodeName(step.node)) : "Starting";
}

function queued(position: number | null): string {
  if (position === null || position < 1) return "Waiting for its turn";
  return position === 1
    ? "Next in line"
    : `Waiting: ${count(position - 1, "question")} before this one`;
}

/** What the last finished step found. */
export const lastSaid = (run: RunView): string =>
  run.steps.findLast((step) => step.state === "done" && step.said !== "")?.said ?? "";

export type ClaimState = "verified" | "weak" | "quoted" | "unchecked";

export function claimState(claim: Claim): ClaimState {
  if (claim.supported === null) return claim.citations.length > 0 ? "quoted" : "unchecked";
  return claim.supported ? "verified" : "weak";
}

/** Whether there is something to read: claims, or a list of what the library has. */
export const hasWords = (answer: Answer): boolean =>
  answer.claims.length > 0 || answer.method === "catalogue";

export const isGeneralKnowledge = (answer: Answer): boolean =>
  answer.analysis?.grounded === false || answer.choice?.grounded === false;

/** The line of the claim strip. */
export function verdict(answer: Answer): string {
  const states = answer.claims.map(claimState);
  const verified = states.filter((state) => state === "verified").length;
  if (isGeneralKnowledge(answer)) return "General knowledge: no source to check against";
  if (states.every((state) => state === "quoted")) return "Quoted word for word from the source";
  if (states.every((state) => state === "unchecked"))
    return `${count(states.length, "claim")}, not checked`;
  return `${verified} of ${count(states.length, "claim")} verified`;
}

/** One sentence about the claim that needs a person's eye most; null where none does. */
export function weakest(answer: Answer): string | null {
  if (isGeneralKnowledge(answer)) return null;
  const weak = answer.claims.filter((claim) => claimState(claim) === "weak");
  const worst = weak.sort((one, other) => (one.support ?? 0) - (other.support ?? 0))[0];
  if (!worst) return null;
  const cited = answer.citations.find((one) => worst.citations.includes(one.number));
  const said = `“${shortened(worst.text, 90)}”`;
  if (!cited) return `${said} has no source. Check it before you rely on it.`;
  return `${said} says more than ${place(cited)} does. Read it before you rely on it.`;
}

export function place(where: Pick<Citation, "title" | "page">): string {
  const page = pageOf(where.page);
  return page ? `${where.title}, ${page}` : where.title;
}

export function shortened(text: string, most: number): string {
  const flat = text.replace(/\s+/g, " ").trim();
  if (flat.length <= most) return flat;
  const cut = flat.slice(0, most);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most * 0.6)).trimEnd()}…`;
}

/** `openai:small@http://…` or `gguf:/home/…/small.gguf` as people call it: "small". */
export function modelName(spec: string): string {
  const name = spec.split("@http")[0]?.replace(/^\w+:/, "") ?? spec;
  const file = spec.startsWith("gguf:") ? name.split(/[\\/]/).at(-1) : name;
  return file?.replace(/\.gguf$/i, "") || spec;
}

/** "0.8 s · no model calls · answered by small"; the confidence is told apart, for it can be opened. */
export function facts(answer: Answer): string[] {
  const { usage } = answer;
  const cost = usage.cost === null ? "cost unknown" : usage.cost > 0 ? money(usage.cost) : "";
  const by = answer.model ? `answered by ${modelName(answer.model)}` : "";
  return [seconds(usage.seconds), modelCalls(usage.calls), cost, by].filter((fact) => fact !== "");
}

const money = (dollars: number): string =>
  dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;

export function sureness(answer: Answer): string | null {
  const { value, label } = answer.confidence;
  if (value === null) return null;
  if (answer.status === "abstained") return `${percent(value)} sure of the nearest passage`;
  return label === "calibrated" ? `${percent(value)} sure` : `about ${percent(value)} sure`;
}

const DONE: Record<string, string> = {
  linear: "Searched your documents",
  adaptive: "Searched your documents",
  corrective: "Searched your documents",
  research: "Researched your documents step by step",
  analyst: "Computed from your tables",
  summary: "Summarised your documents",
  catalogue: "Looked at the list of your documents",
};

/** What stands under the question: what was done, with the workflow and the reason as details. */
export function route(run: RunView): { words: string; details: string } | null {
  if (run.chosen) {
    const { why, workflow } = run.chosen;
    const words = DONE[workflow] ?? "Searched your documents and tables";
    return { words: `${words}.`, details: `${workflow}: ${sentenceStart(why)}.` };
  }
  if (run.workflow === AUTO || run.workflow === "") return null;
  return { words: `Asked with ${run.workflow}.`, details: "" };
}

/** The reason of a choice as the beginning of a sentence. */
export function sentenceStart(why: string): string {
  const bare = why.trim().replace(/[.;,]+$/, "");
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}

const FEW_QUERIES = 3;

/** What is said in place of an answer, by paragraph. The page lists the closest passages itself: their
 * names are left out. */
export function ownWords(text: string): string[] {
  return text.replace(/(These passages come closest): [^\n]*/g, "$1.").split(/\n{2,}/);
}

/** Headings of Markdown as they are read. */
export const withoutHashes = (text: string): string => text.replaceAll(/^#{1,6}\s+/gm, "");

/** What was searched, for an answer that was not given. */
export function searched(answer: Answer): string {
  const documents = new Set(answer.passages.map((passage) => passage.document)).size;
  const what = `${count(answer.passages.length, "passage")} of ${count(documents, "document")}`;
  const others = answer.queries.filter((query) => query !== answer.asked);
  if (answer.passages.length === 0) return "No passage was found.";
  if (others.length === 0) return `Looked at ${what}.`;
  const named = others.slice(0, FEW_QUERIES).map((query) => `“${shortened(query, 80)}”`);
  const more = others.length - named.length;
  if (more > 0) named.push(`${count(more, "other wording")}`);
  return `Looked at ${what}, also for ${named.join(", ")}.`;
}

const WHY_NOT: Record<string, string> = {
  no_evidence: "Your files do not hold the answer",
  low_confidence: "Not sure enough to answer",
  attempts_exhausted: "No answer was found",
  no_progress: "No answer was found",
  ambiguous: "This can be read in several ways",
  budget: "The budget for one question was used up",
  deadline: "The time for one question was used up",
  cancelled: "Stopped before there was an answer",
  refused: "This was not researched",
  cannot_proceed: "The tables cannot answer this",
  model_unavailable: "The model could not be reached",
  error: "Something broke on the way",
};

/** In a few words, why there is no answer. */
export const whyNot = (answer: Answer): string => WHY_NOT[answer.stop_reason] ?? "No answer";

/** A chart in a sentence, for those who do not see it. */
export function figureWords(title: string, analysis: Analysis): string {
  const said = [title || analysis.reading, extremes(analysis.table)].filter(Boolean);
  const of = usedTables(analysis).map((input) => input.title);
  if (of.length > 0) said.push(`From ${of.join(" and ")}`);
  return said.map((sentence) => `${sentenceStart(sentence)}.`).join(" ");
}

/** Of the tables that were at hand, those that the result is made of. */
export function usedTables(analysis: Analysis): Analysis["inputs"] {
  const named = new Set(analysis.columns.map((column) => column.table));
  const used = analysis.inputs.filter((input) => named.has(input.id) || named.has(input.name));
  return used.length > 0 ? used : analysis.inputs;
}

/** "Highest 110 (2024-12), lowest 32 (2024-04)", of a table of names and one number each. */
function extremes(table: ResultTable | null): string {
  if (table?.columns.length !== 2 || table.rows.length < 2) return "";
  const rows = table.rows.flatMap(([name, value]) =>
    typeof value === "number" ? [{ name: String(name), value }] : [],
  );
  if (rows.length !== table.rows.length || rows.length < table.total_rows) return "";
  const sorted = [...rows].sort((one, other) => other.value - one.value);
  const [highest, lowest] = [sorted[0], sorted.at(-1)];
  if (!highest || !lowest || highest.value === lowest.value) return "";
  return `Highest ${number(highest.value)} (${highest.name}), lowest ${number(lowest.value)} (${lowest.name})`;
}

export const number = (value: number): string =>
  value.toLocaleString("en", { maximumFractionDigits: 4, useGrouping: Math.abs(value) >= 10_000 });

const SIGNS = { difference: "−", years: "−", sum: "+", least: "<", most: ">", same: "=" } as const;
const ARITHMETIC = new Set(["difference", "years", "sum"]);

/** "2004 [2] − 1981 [1] = 23 years": what code did with cited values. */
export function reckoned(claim: Claim): string | null {
  const done = claim.computation;
  if (!done) return null;
  const values = inOrder(done).map((one) => {
    const name = one.name && !ARITHMETIC.has(done.operation) ? ` (${one.name})` : "";
    return `${one.text}${name} [${one.citation}]`;
  });
  if (ARITHMETIC.has(done.operation))
    return `${values.join(` ${SIGNS[done.operation]} `)} = ${done.result}`;
  return `${values.join(" and ")}: ${done.result}`;
}

/** What is taken away from stands first; as they come where a value cannot be read. */
function inOrder({ operation, operands }: Computation): Computation["operands"] {
  if (operation !== "difference" && operation !== "years") return operands;
  const shape = operation === "years" ? /\d{4}/ : /-?\d[\d,]*(?:\.\d+)?/;
  const read = (text: string) => Number(shape.exec(text)?.[0].replaceAll(",", "") ?? Number.NaN);
  if (operands.some((one) => Number.isNaN(read(one.text)))) return operands;
  return [...operands].sort((one, other) => read(other.text) - read(one.text));
}

/** "50264.55" as a person writes it, "50,264.55"; null for what is more than a number. */
export function asFigure(short: string): string | null {
  return /^[-−]?\d+(\.\d+)?$/.test(short) ? number(Number(short.replace("−", "-"))) : null;
}

/** Numbers of one column, with as many decimals each as the most of them have, within reason. */
export function alike(values: number[]): string[] {
  const most = Math.max(...values.map(Math.abs)) >= 10 ? 2 : 4;
  const decimals = (value: number) =>
    value
      .toFixed(most)
      .replace(/\.?0+$/, "")
      .split(".")[1];
  const digits = Math.max(...values.map((value) => decimals(value)?.length ?? 0));
  const same = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return values.map((value) => value.toLocaleString("en", same));
}

export interface Bar {
  name: string;
  value: number;
}

const MOST_BARS = 24;

/** A table of a name and a number each, as bars: months and years in their order, else by size. */
export function barsOf(table: ResultTable | null): Bar[] {
  if (table?.columns.length !== 2 || table.rows.length !== table.total_rows) return [];
  const bars = table.rows.flatMap(([name, value]) =>
    typeof value === "number" && value >= 0 ? [{ name: String(name ?? "–"), value }] : [],
  );
  if (bars.length !== table.rows.length || bars.length < 2 || bars.length > MOST_BARS) return [];
  const isTime = bars.every(({ name }) => /^\d{4}(-\w+)*$/.test(name));
  return bars.sort((one, other) =>
    isTime ? one.name.localeCompare(other.name) : other.value - one.value,
  );
}
