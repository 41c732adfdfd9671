import { type DragEvent, type ReactNode, useRef, useState } from "react";
import { addDropped, addFiles } from "./addFiles";

interface Props {
  children: ReactNode;
  /** `large` fills the empty page, `medium` the one of a person who has files, `small` stands
   * under the list of documents. */
  size: "large" | "medium" | "small";
}

/** Takes files by drop, by click and by keyboard, and adds them to the library. */
export function DropZone({ children, size }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const hover = (on: boolean) => (event: DragEvent) => {
    event.preventDefault();
    setOver(on);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    setOver(false);
    void addDropped(event.dataTransfer.items);
  };
  const choose = () => {
    const files = [...(input.current?.files ?? [])];
    if (input.current) input.current.value = ""; // the same file may be chosen again
    void addFiles(files);
  };
  return (
    <>
      <button
        type="button"
        className={`drop drop-${size}`}
        data-over={over || undefined}
        onClick={() => input.current?.click()}
        onDragEnter={hover(true)}
        onDragOver={hover(true)}
        onDragLeave={hover(false)}
        onDrop={drop}
      >
        {children}
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-testid={`files-${size}`}
        onChange={choose}
      />
    </>
  );
}
