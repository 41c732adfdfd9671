import { count } from "../parts/words";
import type { Verification } from "../types";

/** What a second verification found, against the library as it is now. */
export function Checked({ found }: { found: Verification }) {
  return (
    <div className={found.ok ? "checked" : "checked note"} data-testid="checked">
      <p>{found.ok ? stands(found) : fell(found)}</p>
      <ul>
        {[...found.problems, ...found.notes].map((finding) => (
          <li key={`${finding.kind} ${finding.where} ${finding.message}`}>
            {finding.where && `${finding.where}: `}
            {finding.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

function stands({ checked: { citations, tables } }: Verification): string {
  const cited = citations > 0 ? `${citations} of ${count(citations, "citation")} verified` : "";
  const computed = tables > 0 ? "computed again, with the same result" : "";
  const said = [cited, computed].filter(Boolean).join("; ");
  return `${said.charAt(0).toUpperCase()}${said.slice(1) || "It stands"}, just now.`;
}

const fell = ({ problems }: Verification): string =>
  `It no longer stands as it did: ${count(problems.length, "problem")}.`;
