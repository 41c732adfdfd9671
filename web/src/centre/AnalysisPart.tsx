import { useState } from "react";
import { count } from "../parts/words";
import { useSelect } from "../store";
import type { Analysis } from "../types";
import { Bars } from "./Bars";
import { DataTable } from "./DataTable";
import { Figure } from "./Figure";
import { barsOf, sentenceStart } from "./telling";

const SHORT_TABLE = 12;

interface AnalysisProps {
  analysis: Analysis;
  run: string;
  question: string;
}

/** What was computed over tables: the figure, the numbers, and how to get them again. */
export function AnalysisPart({ analysis, run, question }: AnalysisProps) {
  const extra = useSelect((state) => state.settings?.analyst_extra ?? true);
  const figures = analysis.figures;
  if (analysis.kind === "concept") return null;
  const bars = figures.length > 0 && extra ? [] : barsOf(analysis.table);
  return (
    <section
      id={`analysis ${run}`}
      className="analysis"
      aria-label={`Analysis: ${question}`}
      tabIndex={-1}
    >
      {figures.map((figure, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: figures have their place and no other name
        <Figure key={place} figure={figure} analysis={analysis} run={run} place={place} />
      ))}
      {figures.length > 0 && !extra && <InstallHint />}
      {bars.length > 0 && <Bars bars={bars} />}
      <Details
        analysis={analysis}
        question={question}
        standsAlone={figures.length === 0 && bars.length === 0}
        noFigure={!extra}
      />
      <Reading analysis={analysis} />
    </section>
  );
}

/** Figures need a part that is not installed: the table stands in for them. */
function InstallHint() {
  const command = useSelect((state) => state.settings?.install_analyst ?? "");
  return (
    <p className="note">
      To see the figure, install the part that draws it: <code>{command}</code>
    </p>
  );
}

interface DetailsProps {
  analysis: Analysis;
  question: string;
  /** No figure was made: a short table is shown at once. */
  standsAlone: boolean;
  /** The figure cannot be drawn here: the table is shown at once, however long. */
  noFigure: boolean;
}

function Details({ analysis, question, standsAlone, noFigure }: DetailsProps) {
  const { table } = analysis;
  const code = analysis.code ?? analysis.sql;
  const short = table !== null && table.rows.length <= SHORT_TABLE;
  const [asked, setAsked] = useState<boolean | null>(null);
  const data = asked ?? (noFigure || (standsAlone && short));
  const [shown, setShown] = useState(false);
  return (
    <>
      <div className="more">
        {table && (
          <button
            type="button"
            className="pill"
            aria-expanded={data}
            onClick={() => setAsked(!data)}
          >
            {data ? "Hide data" : "Show data"}
          </button>
        )}
        {code && (
          <button
            type="button"
            className="pill"
            aria-expanded={shown}
            onClick={() => setShown(!shown)}
          >
            {shown ? "Hide code" : "Show code"}
          </button>
        )}
      </div>
      {data && table && <DataTable table={table} name={`Data: ${question}`} />}
      {shown && code && (
        <section
          className="code"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reached by key
          tabIndex={0}
          aria-label={`${analysis.code ? "Python code" : "SQL"}: ${question}`}
        >
          <pre>{code}</pre>
        </section>
      )}
    </>
  );
}

/** How the question was read: what was not said in so many words is named. */
function Reading({ analysis }: { analysis: Analysis }) {
  const guessed = analysis.columns.filter(
    ({ how, asked, column }) => how !== "exact" && how !== "case" && asked !== column,
  );
  const failed = analysis.checks.filter((check) => !check.passed);
  const passed = analysis.checks.length - failed.length;
  return (
    <div className="reading">
      {analysis.reading && <p>Read as: {analysis.reading}.</p>}
      {guessed.map((one) => (
        <p key={`${one.asked} ${one.column}`}>
          “{one.asked}” was taken for the column <b>{one.column}</b>.
        </p>
      ))}
      {analysis.checks.length > 0 && (
        <p>
          {passed} of {count(analysis.checks.length, "check")} of the result passed
          {analysis.sandbox ? `; the code ran in the sandbox (${analysis.sandbox})` : ""}.
        </p>
      )}
      {failed.map((check) => (
        <p key={check.name} className="note">
          {sentenceStart(check.said)}.
        </p>
      ))}
      {analysis.remedies.map((remedy) => (
        <p key={`${remedy.action} ${remedy.cause}`}>Tried again: {remedy.cause}</p>
      ))}
    </div>
  );
}
