import { attempt, say, upload } from "../actions";
import { settings } from "../api";
import { getState } from "../store";
import { bytes, count } from "./words";

/** Adds files to the library, however many: they are sent in parts that the server takes. */
export async function addFiles(files: File[]): Promise<void> {
  if (files.length === 0) return;
  await attempt(async () => {
    const { limits } = getState().settings ?? (await settings()); // who is quick may come first
    const fits = files.filter((file) => file.size <= limits.upload_bytes);
    const large = files.length - fits.length;
    if (large > 0) {
      const most = bytes(limits.upload_bytes);
      say(`${count(large, "file")} left out: a file may have at most ${most}.`, true);
    }
    await upload(parts(fits, limits.files_per_upload, limits.upload_bytes));
  });
}

export function parts<T extends { size: number }>(files: T[], many: number, most: number): T[][] {
  const all: T[][] = [];
  let size = 0;
  for (const file of files) {
    size += file.size;
    const last = all.at(-1);
    if (last && last.length < many && size <= most) last.push(file);
    else {
      all.push([file]);
      size = file.size;
    }
  }
  return all;
}

/** Adds what was let go over the page. */
export async function addDropped(items: DataTransferItemList): Promise<void> {
  const reading = dropped(items);
  const files = await reading.catch(() => say("What was dropped cannot be read.", true));
  if (files) await addFiles(files);
}

/** Files, and all files of folders. The list of items ends with the event: it is read at once. */
async function dropped(items: DataTransferItemList): Promise<File[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found = (await Promise.all(entries.map((entry) => filesOf(entry)))).flat();
  const names = found.map(({ file }) => file.name);
  return found.map(({ file, folder }) =>
    // Two files of one name would be two versions of one document.
    folder && names.indexOf(file.name) !== names.lastIndexOf(file.name)
      ? new File([file], `${folder} ${file.name}`, { type: file.type })
      : file,
  );
}

async function filesOf(
  entry: FileSystemEntry,
  folder = "",
): Promise<{ file: File; folder: string }[]> {
  if (entry.name.startsWith(".")) return [];
  if (entry instanceof FileSystemFileEntry) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ file, folder }];
  }
  const within = await entriesOf((entry as FileSystemDirectoryEntry).createReader());
  const inner = folder ? `${folder} ${entry.name}` : entry.name;
  return (await Promise.all(within.map((one) => filesOf(one, inner)))).flat();
}

/** A reader gives a hundred at a time, and nothing after the last. */
async function entriesOf(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return all;
    all.push(...some);
  }
}
