/** The words of the panel: what a step did, and what became of a passage. */

import { nodeName } from "../parts/words";
import { AUTO, type RunView, type StepView } from "../run";
import type { Analysis, Citation, Scalar, SeenPassage } from "../types";

/** A node of `auto`, and no workflow with a graph of its own. */
const CATALOGUE = "catalogue";

/** The workflows whose graphs are drawn, in the order in which they ran; of `auto` what it chose. */
export function workflowsDrawn(run: Pick<RunView, "workflow" | "chosen" | "steps">): string[] {
  const seen = [...new Set(run.steps.map((step) => step.workflow))];
  const working = seen.filter((name) => name !== AUTO);
  if (working.length > 0) return working;
  const first = run.chosen?.workflow === CATALOGUE ? AUTO : (run.chosen?.workflow ?? run.workflow);
  return first ? [first] : [];
}

/** Why a workflow was chosen, as a sentence that names it. */
export function choiceOf({ workflow, why }: { workflow: string; why: string }): string {
  return why.includes(workflow) ? why : `${workflow}: ${why}`;
}

/** Where a step led and why, unless its own sentence has said so. */
export function routeOf(step: StepView, next: StepView | undefined): string | null {
  if (!step.route || step.route.why === step.said) return null;
  const { to, why } = step.route;
  if (next?.node === to) return `Then ${nodeName(to).toLowerCase()}: ${why}`;
  return why.charAt(0).toUpperCase() + why.slice(1);
}

/** A step is weak where it found that something does not stand, or where something went wrong. */
export function isWeak(step: StepView, troubled: ReadonlySet<string>): boolean {
  const { unsupported = 0, cut = 0 } = step.numbers;
  return Number(unsupported) > 0 || Number(cut) > 0 || troubled.has(step.node);
}

/** The numbers behind a sentence: those that say something, and those that say there was nothing. */
export function numbersOf(step: Pick<StepView, "numbers">): { telling: string[]; empty: string[] } {
  const told = Object.entries(step.numbers).filter(([, value]) => value !== null && value !== "");
  const inWords = (entries: [string, Scalar][]) =>
    entries.map(([name, value]) => `${name.replaceAll("_", " ")} ${short(value)}`);
  return {
    telling: inWords(told.filter(([, value]) => isTelling(value))),
    empty: inWords(told.filter(([, value]) => !isTelling(value))),
  };
}

function isTelling(value: Scalar): boolean {
  return value !== 0 && value !== false && value !== "nobody";
}

function short(value: Scalar): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return shortNumber(value);
  return value?.includes(" ") ? `“${value}”` : `${value}`;
}

export function shortNumber(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) < 0.01 ? value.toExponential(1) : value.toFixed(2);
}

/** Kept ones first; each part by score, the best first. */
export function keptAndDropped(passages: readonly SeenPassage[]): [SeenPassage[], SeenPassage[]] {
  const sorted = [...passages].sort((one, other) => other.score - one.score);
  return [sorted.filter((passage) => passage.kept), sorted.filter((passage) => !passage.kept)];
}

/** "score 0.70 · answers it · reader 4.84 · 1st by meaning · 4th by words" */
export function scoresOf(passage: SeenPassage): string {
  const { rerank_score: reader, dense_rank: meaning, lexical_rank: words } = passage;
  return [
    `score ${shortNumber(passage.score)}`,
    gradeOf(passage),
    reader === null ? "" : `reader ${shortNumber(reader)}`,
    meaning === null ? "" : `${ordinal(meaning)} by meaning`,
    words === null ? "" : `${ordinal(words)} by words`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function gradeOf(passage: SeenPassage): string {
  if (passage.grade === "not graded") return "";
  if (passage.answers) return "answers it";
  return passage.grade === "relevant" ? "about it" : "not about it";
}

export function ordinal(number: number): string {
  const ending = { one: "st", two: "nd", few: "rd", other: "th", zero: "th", many: "th" };
  return `${number}${ending[new Intl.PluralRules("en", { type: "ordinal" }).select(number)]}`;
}

/** Where a passage is cited; the first number where it is cited more than once. */
export function citationOf(
  passage: Pick<SeenPassage, "id">,
  citations: readonly Citation[],
): Citation | null {
  return citations.find((citation) => citation.passage === passage.id) ?? null;
}

const HOW: Record<string, string> = {
  exact: "by its name",
  case: "by its name",
  fuzzy: "spelled alike",
  value: "by a value in it",
  meaning: "by meaning",
};

/** Which words of the question were taken for which columns of a table. */
export function columnsUsed(
  analysis: Pick<Analysis, "columns"> | null | undefined,
  table: { id: string; name: string },
): { column: string; asked: string; how: string }[] {
  const own = (analysis?.columns ?? []).filter((resolved) =>
    [table.id, table.name].includes(resolved.table),
  );
  return own.map(({ column, asked, how }) => ({ column, asked, how: HOW[how] ?? how }));
}
