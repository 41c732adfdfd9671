import { useState } from "react";
import { count } from "../parts/words";
import type { ResultTable, Scalar } from "../types";
import { number } from "./telling";

const FIRST = 50;

export function DataTable({ table, name }: { table: ResultTable; name: string }) {
  const [all, setAll] = useState(false);
  const rows = all ? table.rows : table.rows.slice(0, FIRST);
  const numeric = table.columns.map((_, column) => isNumeric(table.rows, column));
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reached by key */}
      <section className="table-scroll" tabIndex={0} aria-label={name}>
        <table>
          <thead>
            <tr>
              {table.columns.map((name, column) => (
                <th key={name} scope="col" data-numeric={numeric[column] || undefined}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have their place and no other name
              <tr key={place}>
                {table.columns.map((name, column) => (
                  <td key={name} data-numeric={numeric[column] || undefined}>
                    {cell(row[column] ?? null)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p className="soft table-count">
        {rows.length < table.total_rows
          ? `${rows.length} of ${count(table.total_rows, "row")}`
          : count(table.total_rows, "row")}{" "}
        {table.rows.length > FIRST && (
          <button type="button" className="link" onClick={() => setAll(!all)}>
            {all ? "Show fewer" : `Show ${table.rows.length}`}
          </button>
        )}
      </p>
    </>
  );
}

const isNumeric = (rows: Scalar[][], column: number): boolean =>
  rows.some((row) => typeof row[column] === "number") &&
  rows.every((row) => row[column] === null || typeof row[column] === "number");

function cell(value: Scalar): string {
  if (value === null) return "–";
  return typeof value === "number" ? number(value) : String(value);
}
