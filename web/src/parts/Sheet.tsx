import {
  type ReactNode,
  type SyntheticEvent,
  useEffect,
  useRef,
  useSyncExternalStore,
} from "react";
import type { Sheet as SheetName } from "../state";
import { dispatch, useSelect } from "../store";
import { Notice } from "./Notice";
import "./sheet.css";

interface Props {
  name: Exclude<SheetName, null>;
  /** The width (in pixels) up to which it is a sheet, as in layout.css. */
  upTo: number;
  label: string;
  as: "nav" | "aside";
  children: ReactNode;
}

/** A column beside the answer; on a narrow window a sheet over it. */
export function Sheet({ name, upTo, label, as: Column, children }: Props) {
  const narrow = useNarrow(upTo);
  if (narrow) {
    return (
      <SheetDialog name={name} label={label}>
        {children}
      </SheetDialog>
    );
  }
  return (
    <Column className={name} aria-label={label}>
      {children}
    </Column>
  );
}

/**
 * A modal dialog of the browser: it holds the focus, makes what lies under it inert, and gives the
 * focus back when it closes.
 */
function SheetDialog({ name, label, children }: Pick<Props, "name" | "label" | "children">) {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = useSelect((state) => state.sheet === name);
  useEffect(() => {
    if (open && !dialog.current?.open) dialog.current?.showModal();
    if (!open) dialog.current?.close();
  }, [open]);
  const cancel = (event: SyntheticEvent) => {
    event.preventDefault();
    closeSheet();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too, through onCancel
    <dialog
      ref={dialog}
      className={`${name} sheet`}
      aria-label={label}
      onCancel={cancel}
      onClick={(event) => event.target === dialog.current && closeSheet()}
    >
      <div className="sheet-body">
        <button type="button" className="sheet-close quiet" onClick={closeSheet}>
          Close
        </button>
        {children}
      </div>
      {open && <Notice />}
    </dialog>
  );
}

export function closeSheet(): void {
  dispatch({ type: "sheet", sheet: null });
}

function useNarrow(upTo: number): boolean {
  const query = `(max-width: ${upTo}px)`;
  return useSyncExternalStore(
    (changed) => {
      const media = matchMedia(query);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    () => matchMedia(query).matches,
  );
}
