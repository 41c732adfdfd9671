import { useId, useState } from "react";
import { tenths } from "../parts/words";
import type { Answer } from "../types";
import { claimState, facts, shortened, sureness, verdict, weakest } from "./telling";

const WORDS = {
  verified: "verified",
  weak: "not verified",
  quoted: "quoted",
  unchecked: "not checked",
} as const;

/** The signature: what the second look found, claim by claim. */
export function ClaimStrip({ answer }: { answer: Answer }) {
  const note = weakest(answer);
  return (
    <section
      className="look"
      aria-label={`What the second look found: ${answer.question}`}
      data-testid="claim-strip"
    >
      <header>
        {answer.claims.length > 0 && (
          <>
            <Marks answer={answer} />
            <strong>{verdict(answer)}</strong>
          </>
        )}
        <Facts answer={answer} />
      </header>
      {note && <div className="note">{note}</div>}
      {answer.needs_review && answer.claims.length > 0 && !note && (
        <div className="note">
          Every try was used up. Look at the evidence before you rely on it.
        </div>
      )}
    </section>
  );
}

/** One mark a claim; a weak one is also shorter, an unchecked one hollow. */
function Marks({ answer }: { answer: Answer }) {
  return (
    <ul className="claims">
      {answer.claims.map((claim, place) => {
        const state = claimState(claim);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: claims have their place and no other name
          <li key={place} data-state={state} title={shortened(claim.text, 120)}>
            <span className="sr">{`Claim ${place + 1}: ${WORDS[state]}`}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Facts({ answer }: { answer: Answer }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const sure = sureness(answer);
  const reasons = answer.confidence.reasons;
  return (
    <>
      <span className="facts">
        {facts(answer).join(" · ")}
        {sure && " · "}
        {sure && (
          <button
            type="button"
            className="sure"
            aria-expanded={open}
            aria-controls={id}
            onClick={() => setOpen(!open)}
          >
            {sure}
          </button>
        )}
      </span>
      <div id={id} className="reasons" hidden={!open}>
        <p>
          {answer.confidence.label === "calibrated"
            ? `About ${tenths(answer.confidence.value ?? 0)} answers with this score are right.`
            : "Provisional: this score was not checked against right and wrong answers."}
        </p>
        <ul>
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      </div>
    </>
  );
}
