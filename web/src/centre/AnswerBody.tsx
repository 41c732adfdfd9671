import { ask } from "../actions";
import type { RunView } from "../run";
import type { Answer, SeenPassage } from "../types";
import { AnalysisPart } from "./AnalysisPart";
import { AnswerActions } from "./AnswerActions";
import { AnswerText } from "./AnswerText";
import { ChoicePart } from "./ChoicePart";
import { ClaimStrip } from "./ClaimStrip";
import { NoAnswer } from "./NoAnswer";
import { Parts } from "./Parts";
import { ResearchPart } from "./ResearchPart";
import { hasWords, isGeneralKnowledge } from "./telling";

/** The answer, whatever its status, and everything that must be said of it. */
export function AnswerBody({ answer, run }: { answer: Answer; run: RunView }) {
  return (
    <>
      <Understood answer={answer} />
      {isGeneralKnowledge(answer) && (
        <p className="tag warn">General knowledge, not from your files</p>
      )}
      {hasWords(answer) ? <AnswerText answer={answer} /> : <NoAnswer answer={answer} />}
      {answer.asks_back && <p className="asks-back">{answer.asks_back}</p>}
      {answer.choice && <ChoicePart choice={answer.choice} />}
      {answer.analysis && (
        <AnalysisPart analysis={answer.analysis} run={answer.run} question={answer.question} />
      )}
      <Parts parts={answer.parts} run={answer.run} />
      {answer.research && <ResearchPart research={answer.research} />}
      <ClaimStrip answer={answer} />
      <Warnings answer={answer} />
      <LeftOut
        passages={answer.passages}
        read={(one) => void ask(run.question, trusting(run, one))}
      />
      <AnswerActions answer={answer} run={run} askAnew={() => void ask(run.question, anew(run))} />
    </>
  );
}

const anew = (run: RunView) => ({
  workflow: run.workflow || null,
  after: run.after,
  trust: run.trust,
});

const trusting = (run: RunView, document: string) => ({
  ...anew(run),
  trust: [...run.trust, document],
});

/** Documents of which something was kept out, for it gives a model orders: let in by a click. */
function LeftOut({ passages, read }: { passages: SeenPassage[]; read: (one: string) => void }) {
  const out = passages.filter(({ why }) => /^quarantined: |gives orders$/.test(why));
  const titles = new Map(out.map((passage) => [passage.document, passage.title]));
  return [...titles].map(([document, title]) => (
    <button key={document} type="button" className="pill" onClick={() => read(document)}>
      Read {title} all the same
    </button>
  ));
}

/** Read without it, the answer may be one to another question. */
function Understood({ answer }: { answer: Answer }) {
  const { asked, question, assumed, research } = answer;
  return (
    <>
      {asked !== question && !answer.choice && (
        <p className="understood">
          Understood as <q>{asked}</q>
        </p>
      )}
      {assumed && <p className="understood">Taken as: {assumed}</p>}
      {research?.recalled && (
        <p className="understood">
          From earlier research: <q>{research.recalled.question}</q>
        </p>
      )}
    </>
  );
}

function Warnings({ answer }: { answer: Answer }) {
  if (answer.warnings.length === 0) return null;
  return (
    <ul className="warnings" aria-label="Warnings">
      {answer.warnings.map((warning) => (
        <li key={`${warning.node} ${warning.message}`} className="note">
          {warning.message}; {warning.consequence}
        </li>
      ))}
    </ul>
  );
}
