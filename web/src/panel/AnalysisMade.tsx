import { openTable } from "../actions";
import { usedTables } from "../centre/telling";
import { count } from "../parts/words";
import type { Analysis } from "../types";
import { columnsUsed } from "./describe";

/** What an analysis rests on: its tables, which words were taken for which columns, its checks. */
export function AnalysisMade({ analysis, run }: { analysis: Analysis; run: string }) {
  const tables = usedTables(analysis);
  return (
    <section className="analysis-made" aria-label="Tables and checks">
      {tables.length > 0 && <h3>Tables used</h3>}
      <ul>
        {tables.map((input) => (
          <li key={input.id}>
            <button type="button" onClick={() => openTable(input.id, run)}>
              {input.title || input.name}
            </button>
            <small>{count(input.rows, "row")}</small>
            <Columns analysis={analysis} table={input} />
          </li>
        ))}
      </ul>
      <Tries analysis={analysis} />
      {analysis.checks.length > 0 && <h3>Checks</h3>}
      <ul>
        {analysis.checks.map((check) => (
          <li key={check.name} className="check" data-passed={check.passed}>
            <span aria-hidden="true">{check.passed ? "✓" : "!"}</span>
            <span>
              {check.said || check.name}
              {!check.passed && <em> did not pass</em>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Input = Analysis["inputs"][number];

function Columns({ analysis, table }: { analysis: Analysis; table: Input }) {
  return (
    <ul className="why">
      {columnsUsed(analysis, table).map(({ column, asked, how }) => (
        <li key={`${asked} ${column}`}>
          {`“${asked}” is the column `}
          <b>{column}</b>
          {`, ${how}`}
        </li>
      ))}
    </ul>
  );
}

function Tries({ analysis }: { analysis: Analysis }) {
  if (analysis.remedies.length === 0) return null;
  return (
    <>
      <h3>Tried again</h3>
      <ul className="why">
        {analysis.remedies.map(({ cause, action, guidance }) => (
          <li key={`${cause} ${action} ${guidance}`}>
            {`${cause}: ${action.replaceAll("_", " ")}. ${guidance}`}
          </li>
        ))}
      </ul>
    </>
  );
}
