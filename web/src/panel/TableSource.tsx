import { useEffect, useState } from "react";
import * as api from "../api";
import { Problem } from "../api";
import { count, hintSentence, sentence } from "../parts/words";
import type { RunView } from "../run";
import { useSelect } from "../store";
import type { Scalar, TableView } from "../types";
import { columnsUsed, shortNumber } from "./describe";
import { SourceHead } from "./SourceHead";

/** A table: its columns, what they hold, and its first rows. */
export function TableSource({ id, run }: { id: string; run: RunView | null }) {
  const shown = useSelect((state) => state.library);
  const used = run?.answer?.analysis?.inputs.find((input) => input.id === id);
  const read = useTable(used ? (run?.library ?? shown) : shown, id);
  const title = read instanceof Problem ? null : read?.title || read?.name;
  return (
    <div className="source">
      <SourceHead number={null} title={title ?? used?.title ?? "Table"} opened />
      <TableBody read={read} run={run} />
    </div>
  );
}

function TableBody({ read, run }: { read: TableView | Problem | null; run: RunView | null }) {
  if (read === null) return <p className="panel-empty">Reading the table …</p>;
  if (read instanceof Problem) {
    return (
      <p className="note">{[sentence(read.message), hintSentence(read.hint ?? "")].join(" ")}</p>
    );
  }
  const used = new Map(
    columnsUsed(run?.answer?.analysis, read).map(({ column, asked }) => [column, asked]),
  );
  return (
    <>
      <p className="source-place">{sizeOf(read)}</p>
      {read.warnings.map((warning) => (
        <p key={warning} className="note">
          {warning}
        </p>
      ))}
      <h3>Columns</h3>
      <Columns table={read} used={used} />
      <h3>{`First ${count(read.rows.length, "row")}`}</h3>
      <FirstRows table={read} used={used} />
    </>
  );
}

/** How many rows there are in all, where the server says so. */
function sizeOf(table: TableView & { total_rows?: number }): string {
  const columns = count(table.columns.length, "column");
  return table.total_rows === undefined ? columns : `${count(table.total_rows, "row")}, ${columns}`;
}

function useTable(library: string, id: string): TableView | Problem | null {
  const [read, setRead] = useState<TableView | Problem | null>(null);
  useEffect(() => {
    let wanted = true;
    const show = (found: TableView | Problem) => wanted && setRead(found);
    api.table(library, id).then(show, (error: unknown) => {
      if (error instanceof Problem) show(error);
    });
    return () => {
      wanted = false;
    };
  }, [library, id]);
  return read;
}

interface TableProps {
  table: TableView;
  /** Columns that the question was about, and its word for each. */
  used: ReadonlyMap<string, string>;
}

function Columns({ table, used }: TableProps) {
  return (
    <ul className="columns">
      {table.columns.map((column) => (
        <li key={column.name} data-used={used.has(column.name)}>
          <b>{column.name}</b> <span className="column-type">{column.type}</span>
          <span className="numbers">{aboutColumn(column, used.get(column.name))}</span>
        </li>
      ))}
    </ul>
  );
}

function aboutColumn(column: TableView["columns"][number], asked: string | undefined): string {
  return [
    asked && `taken for “${asked}”`,
    `${column.distinct.toLocaleString("en")} different`,
    column.missing > 0 && `${column.missing.toLocaleString("en")} missing`,
    column.about,
  ]
    .filter(Boolean)
    .join(" · ");
}

function FirstRows({ table, used }: TableProps) {
  return (
    <section
      className="rows"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label={`First rows of ${table.title || table.name}`}
    >
      <table>
        <thead>
          <tr>
            {table.columns.map(({ name }, place) => (
              <th
                key={name}
                scope="col"
                data-used={used.has(name)}
                data-number={typeof table.rows[0]?.[place] === "number"}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
            <tr key={at}>
              {row.map((cell, place) => (
                <td
                  key={table.columns[place]?.name ?? place}
                  data-number={typeof cell === "number"}
                >
                  {cellText(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function cellText(cell: Scalar): string {
  if (cell === null) return "–";
  if (typeof cell === "number") return Number.isInteger(cell) ? String(cell) : shortNumber(cell);
  return String(cell);
}
