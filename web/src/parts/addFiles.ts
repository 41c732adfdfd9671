import { say, upload } from "../actions";
import { getState } from "../store";
import { bytes } from "./words";

/** Adds files to the library; what the server would refuse anyway is said before it is sent. */
export async function addFiles(files: File[]): Promise<void> {
  const limits = getState().settings?.limits;
  const tooMany = limits && files.length > limits.files_per_upload;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (tooMany) say(`At most ${limits.files_per_upload} files can be added at once.`, true);
  else if (limits && size > limits.upload_bytes)
    say(`${bytes(size)} is too much: at most ${bytes(limits.upload_bytes)} at once.`, true);
  else await upload(files);
}
