import { count } from "../parts/words";
import type { Answer, Verification } from "../types";

/** What a second verification found, against the library as it is now. */
export function Checked({ answer, found }: { answer: Answer; found: Verification }) {
  if (found.ok) return <p className="checked">{stands(answer)}</p>;
  return (
    <div className="note checked">
      <p>It no longer stands as it did: {count(found.problems.length, "problem")}.</p>
      <ul>
        {found.problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}

function stands(answer: Answer): string {
  const citations = answer.citations.length;
  if (citations === 0 && answer.analysis) return "Computed again just now: it comes out the same.";
  return `${citations} of ${count(citations, "citation")} verified, just now.`;
}
