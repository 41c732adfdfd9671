import { markSpan } from "../parts/offsets";
import type { RunView } from "../run";
import type { SourceTarget } from "../state";
import { PageText } from "./DocumentText";
import { webAddress } from "./targets";

/** A page of the web, as it was read when the question was asked. */
export function WebText({ source, run }: { source: SourceTarget; run: RunView | null }) {
  const seen = passageAround(source, run);
  const address = webAddress(source.url);
  return (
    <>
      <p className="source-place">
        {address ? (
          <a className="link" href={address} target="_blank" rel="noopener noreferrer">
            {address}
          </a>
        ) : (
          source.url
        )}
      </p>
      <p className="source-place">{readWhen(source, run)}</p>
      <PageText
        quoted={source.quote !== null}
        marked={
          seen
            ? markSpan(seen.text, seen.start, source.start, source.end)
            : { before: "", marked: source.quote ?? "", after: "" }
        }
      />
    </>
  );
}

function passageAround(source: SourceTarget, run: RunView | null) {
  if (source.text !== null) return { text: source.text, start: source.start };
  const around = run?.passages.find(
    ({ document, start, end, text }) =>
      text !== null && document === source.document && start <= source.start && end >= source.end,
  );
  return around ? { text: around.text ?? "", start: around.start } : null;
}

function readWhen(source: SourceTarget, run: RunView | null): string {
  const cited = run?.answer?.citations.find(({ number }) => number === source.number);
  const when = cited?.fetched ? new Date(cited.fetched) : null;
  if (when === null) return "From the web, as it was when the question was asked";
  return `Read on ${when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}`;
}
