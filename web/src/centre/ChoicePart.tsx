import type { Choice, ChoiceOption } from "../types";
import { sentenceStart } from "./telling";

const MET = { met: "holds", "not met": "does not hold", unknown: "not known" } as const;
const SIGNS = { met: "✓", "not met": "✕", unknown: "?" } as const;

/** A verdict on every option, the chosen one first to be seen. */
export function ChoicePart({ choice }: { choice: Choice }) {
  return (
    <section className="choice" data-testid="choice">
      <h2>
        {choice.letter ? `Chosen: (${choice.letter}) ${choice.text ?? ""}` : "No option was chosen"}
      </h2>
      {choice.why && <p className="soft">{sentenceStart(choice.why)}.</p>}
      <ul>
        {choice.options.map((option) => (
          <Option key={option.letter} option={option} choice={choice} />
        ))}
      </ul>
    </section>
  );
}

function Option({ option, choice }: { option: ChoiceOption; choice: Choice }) {
  const chosen = option.letter === choice.letter;
  return (
    <li className="option" data-chosen={chosen || undefined}>
      <b>
        ({option.letter}) {option.text}
        {chosen && <span className="tag">chosen</span>}
      </b>
      <ul>
        {option.verdicts.map((verdict) => (
          <li key={verdict.element} data-met={verdict.met}>
            <span className="sign" aria-hidden="true">
              {SIGNS[verdict.met]}
            </span>
            <span>
              <em>{MET[verdict.met]}:</em> {choice.elements[verdict.element - 1]?.text}
              {verdict.fact && (
                <>
                  {" "}
                  (<q>{verdict.fact}</q>)
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {option.reason && <p className="soft">{option.reason}</p>}
    </li>
  );
}
