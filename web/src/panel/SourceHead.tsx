import { useEffect, useRef } from "react";
import { closeSource } from "../actions";

interface Props {
  /** As printed in the answer; null for what is not cited. */
  number: number | null;
  title: string;
}

/** Stays while the source is scrolled. The focus comes here when a source is opened. */
export function SourceHead({ number, title }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // A page that was opened at this address leaves the focus where the browser puts it.
    if (document.activeElement !== document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="source-head">
      <button type="button" className="back quiet" onClick={closeSource}>
        <span aria-hidden="true">← </span>Back
      </button>
      <h2 ref={heading} tabIndex={-1}>
        {number !== null && <b className="cited">{number}</b>} {title}
      </h2>
    </header>
  );
}
