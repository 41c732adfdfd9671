import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  children: ReactNode;
  yes: string;
  no: string;
  onYes: () => void;
  onNo: () => void;
}

/** Asks where the button was pressed, before something is lost. The safe answer has the focus. */
export function Confirm({ children, yes, no, onYes, onNo }: Props) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    keep.current?.focus();
  }, []);
  return (
    <fieldset className="confirm" onKeyDown={(event) => closeOnEscape(event, onNo)}>
      <legend>{children}</legend>
      <button type="button" className="confirm-yes" onClick={onYes}>
        {yes}
      </button>
      <button type="button" ref={keep} onClick={onNo}>
        {no}
      </button>
    </fieldset>
  );
}

function closeOnEscape(event: React.KeyboardEvent, onNo: () => void): void {
  if (event.key !== "Escape") return;
  event.preventDefault(); // otherwise it would close the sheet or the source as well
  onNo();
}
