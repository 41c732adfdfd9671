import { useEffect, useRef } from "react";
import { closeSource } from "../actions";

interface Props {
  /** As printed in the answer; null for what is not cited. */
  number: number | null;
  title: string;
  /** Whether somebody opened it: the focus comes here then. */
  opened: boolean;
}

/** Stays while the source is scrolled. */
export function SourceHead({ number, title, opened }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // A page that was opened at this address leaves the focus where the browser puts it.
    if (opened && document.activeElement !== document.body)
      heading.current?.focus({ preventScroll: true });
  }, [opened]);
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
