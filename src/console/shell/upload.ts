/** Where files are dropped, and how far they are. Its script is `browser/upload-files.ts`. */
import { type Html, html } from '../../platform/text/html.ts';
import type { DraftFile } from '../shapes.ts';
import { UPLOAD } from '../texts/new-import.ts';
import { percent } from './blocks.ts';
import type { ConsoleUrl } from './show.ts';

/** The scripts of every page with it; those of the steps too, as they are shown in the same document. */
export const UPLOAD_SCRIPTS = ['upload-files.ts', 'send-form.ts', 'follow-form.ts', 'copy-text.ts', 'live.ts'];

export interface UploadView {
  /** Empty before the first file. */
  importId: string;
  files: readonly DraftFile[];
  /** Whether files can be added here. */
  hasZone: boolean;
}

export function uploadFiles(consoleUrl: ConsoleUrl, { importId, files, hasZone }: UploadView): Html {
  const { heading, hint, choose, more, noScript, ...texts } = UPLOAD;
  const add = html`<div class="drop with-script" hidden><p><strong>${heading}</strong></p><p class="soft">${hint}</p>
<label class="button${files.length > 0 ? html` quiet` : undefined}">${files.length > 0 ? more : choose}<input class="sr" type="file" multiple></label></div>
<p class="without-script notice warn">${noScript}</p>`;
  return html`<upload-files class="card" api="${consoleUrl('/api')}" pages="${consoleUrl('/imports/new')}" import="${importId}" texts="${JSON.stringify(texts)}" files="${JSON.stringify(files)}">
<p class="notice bad" role="alert" hidden></p>
<ul class="uploads plain" aria-label="${UPLOAD.files}">${files.map(withoutScript)}</ul>
${hasZone ? add : undefined}</upload-files>`;
}

function withoutScript({ name, size, offset }: DraftFile): Html {
  return html`<li class="without-script"><strong>${name}</strong> <span class="soft">${percent(offset, size)}</span></li>\n`;
}
