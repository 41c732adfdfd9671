import { addSamples, ask } from "../actions";
import { DropZone } from "../parts/DropZone";
import { count, percent } from "../parts/words";
import { isSending } from "../state";
import { useSelect } from "../store";
import type { Doc, Job } from "../types";

/** Before the first question: one sentence, a place for files, questions made from them. */
export function Home() {
  const documents = useSelect((state) => state.documents);
  const jobs = useSelect((state) => state.jobs);
  const waiting = jobs.find((job) => job.status === "running" || job.status === "queued");
  return (
    <article className="home">
      <h1>{headline(documents)}</h1>
      <p className="lead">
        Secondlook answers from your own files, shows where each sentence stands, and says so when
        they do not hold the answer.
      </p>
      <DropZone size={documents?.length ? "medium" : "large"}>
        <b>Drop files here, or choose them</b>
        <span>PDF, Word, Excel, CSV, Markdown, web pages, mail. {staying()}</span>
      </DropZone>
      <div className="beneath-drop">{waiting && <JobLine job={waiting} />}</div>
      {documents?.length === 0 && !waiting && (
        <button type="button" className="pill" onClick={() => void addSamples()}>
          Try it with sample documents
        </button>
      )}
      <Suggestions />
    </article>
  );
}

function staying(): string {
  const here = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return here ? "They stay on this machine." : "They stay on this server.";
}

function headline(documents: Doc[] | null): string {
  const ready = documents?.filter((document) => document.status === "ready").length ?? 0;
  if (ready === 0) return "Ask your own documents and tables";
  return `Ask your ${ready === 1 ? "document" : count(ready, "document")}`;
}

function JobLine({ job }: { job: Job }) {
  return (
    <p className="lead soft">
      {isSending(job) ? "Sending your files" : `${readingOf(job)}: ${percent(job.share)}`}
    </p>
  );
}

function readingOf(job: Job): string {
  const current = job.files.find((file) => file.status === "indexing");
  return current ? `Reading ${current.name}` : "Waiting to read your files";
}

function Suggestions() {
  const suggestions = useSelect((state) => state.suggestions);
  const hasDocuments = useSelect((state) => (state.documents?.length ?? 0) > 0);
  if (!hasDocuments || !suggestions?.length) return null;
  return (
    <section className="suggestions" aria-labelledby="suggestions-title">
      <h2 id="suggestions-title">Questions your files can answer</h2>
      <ul>
        {suggestions.slice(0, 3).map(({ question, why }) => (
          <li key={question}>
            <button type="button" onClick={() => void ask(question, { workflow: null })}>
              <span>{question}</span>
              {why && <small>{why}</small>}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
