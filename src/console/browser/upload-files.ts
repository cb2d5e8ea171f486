/**
 * `<upload-files>`: takes the files of an import by dropping or choosing, and shows how far they are.
 *
 * The uploads themselves belong to the page (`uploads.ts`), so that they continue while a person goes through the steps.
 * Attributes: `api` and `pages`, the addresses of the API and of the steps; `import`, the draft, empty before the first
 * file; `files`, what the service knows of them; `texts`.
 */
import { visit } from './steps.ts';
import { openRow, type Row, type Texts, type UploadedFile } from './upload-row.ts';
import {
  addFile,
  continueFile,
  createDraft,
  discardDraft,
  forget,
  hasUploads,
  isUnchanged,
  type Kind,
  onChange,
  Refused,
  type RefusedFile,
  refusedOf,
  removeFile,
  uploadOf,
} from './uploads.ts';

/** What could not be taken of the files that were chosen last; pages that follow say it too. */
const refusals = new Set<string>();
/** The page that was asked for last: an earlier page that arrives later would show fewer files, and no refusal. */
let reloading = new AbortController();

/** A file may be chosen on a page that is replaced meanwhile. */
function tellRefusals(): void {
  for (const element of document.querySelectorAll<UploadFiles>('upload-files')) element.sayRefusals();
}

class UploadFiles extends HTMLElement {
  #texts!: Texts;
  #rows = new Map<string, Row>();
  #ended: (() => void) | undefined;
  /** Files are taken one after the other, in the order in which they were dropped. */
  #taking: Promise<void> = Promise.resolve();
  /** The draft that this page created for its first file. */
  #created = '';
  /** The page says that files are on their way. */
  #saysUploading = false;

  connectedCallback(): void {
    this.#texts = JSON.parse(this.getAttribute('texts') ?? '{}');
    for (const element of this.querySelectorAll('.without-script')) element.remove();
    for (const element of this.querySelectorAll<HTMLElement>('.with-script')) element.hidden = false;
    const files = JSON.parse(this.getAttribute('files') ?? '[]') as UploadedFile[];
    for (const file of files) this.#show(file);
    this.#saysUploading = files.some(({ offset, size }) => offset < size);
    this.#ended ??= onChange(() => this.#draw());
    this.querySelector<HTMLInputElement>('input[type=file]')?.addEventListener('change', ({ target }) => {
      const input = target as HTMLInputElement;
      this.#take([...(input.files ?? [])]);
      input.value = '';
    });
    const zone = this.querySelector<HTMLElement>('.drop');
    if (zone) this.#listen(zone);
    this.#draw();
    this.sayRefusals();
  }

  #listen(zone: HTMLElement): void {
    for (const type of ['dragenter', 'dragover'])
      this.addEventListener(type, (event) => over(event as DragEvent, zone, true));
    for (const type of ['dragleave', 'drop'])
      this.addEventListener(type, (event) => over(event as DragEvent, zone, false));
    this.addEventListener('drop', ({ dataTransfer }) => this.#take([...(dataTransfer?.files ?? [])]));
  }

  disconnectedCallback(): void {
    this.#ended?.();
    this.#ended = undefined;
  }

  get #api(): string {
    return this.getAttribute('api') as string;
  }

  get #import(): string {
    return this.getAttribute('import') || this.#created;
  }

  /** Files that were interrupted continue; others are new. Those that come while others are added wait for them. */
  #take(files: File[]): void {
    if (files.length > 0) this.#taking = this.#taking.then(() => this.#takeNow(files));
  }

  async #takeNow(files: File[]): Promise<void> {
    refusals.clear();
    this.#say('');
    try {
      const fresh = files.filter((file) => !this.#continues(file));
      const empty = fresh.find(({ size }) => size === 0);
      if (empty) refusals.add(put(this.#texts.empty, { name: empty.name }));
      else if (fresh.length > 0) await this.#add(fresh);
    } catch (error) {
      refusals.add(this.#reason(error));
    }
    tellRefusals();
  }

  #continues(file: File): boolean {
    for (const { known } of this.#rows.values()) {
      if (known.name === file.name && known.size === file.size && this.#resume(known, file)) return true;
    }
    return false;
  }

  async #add(files: File[]): Promise<void> {
    this.#created = this.#import || (await createDraft(this.#api));
    try {
      for (const file of files) {
        const kind = kindOf(file);
        const fileId = await addFile(this.#api, this.#import, file, kind);
        this.#show({ fileId, name: file.name, kind, size: file.size, offset: 0 });
      }
    } catch (error) {
      refusals.add(this.#reason(error));
    }
    this.#reload();
  }

  #reason(error: unknown): string {
    return (error instanceof Refused && error.message) || (this.#texts.refused as string);
  }

  /** The other parts of the page depend on the files. A step that the person went to meanwhile stays. */
  #reload(): void {
    const path = `${this.getAttribute('pages')}/${this.#import}/`;
    this.#visit(location.pathname.startsWith(path) ? location.href : `${path}files`);
  }

  #visit(url: string): void {
    reloading.abort();
    reloading = new AbortController();
    visit(url, { signal: reloading.signal });
  }

  #show(file: UploadedFile): void {
    if (this.#rows.has(file.fileId)) return;
    const row = openRow(file, this.#texts, {
      resume: (chosen) => {
        this.#say('');
        this.#resume(file, chosen);
      },
      remove: () => this.#remove(file.fileId),
      changeKind: (kind) => this.#changeKind(file, kind),
    });
    this.#rows.set(file.fileId, row);
    this.querySelector('.uploads')?.append(row.element);
  }

  /** Continues an upload with the file that was chosen for it. Returns whether it is this file. */
  #resume(known: UploadedFile, file: File): boolean {
    const upload = uploadOf(known.fileId);
    if (upload || known.offset >= known.size) return false;
    const isSame = file.name === known.name && file.size === known.size;
    if (!isSame)
      this.#say(
        put(this.#texts.other, { name: known.name, size: known.size.toLocaleString(document.documentElement.lang) }),
      );
    else if (isUnchanged(known.fileId, file)) continueFile(this.#api, this.#import, known.fileId, file, known.offset);
    else this.#say(this.#texts.changed as string);
    return isSame;
  }

  async #remove(fileId: string): Promise<void> {
    try {
      await removeFile(this.#api, this.#import, fileId);
      this.#rows.get(fileId)?.element.remove();
      this.#rows.delete(fileId);
      this.#reload();
    } catch (error) {
      this.#say(this.#reason(error));
    }
  }

  /** The service knows the kind from the beginning on, so the file is sent once more. */
  async #changeKind({ fileId }: UploadedFile, kind: Kind): Promise<void> {
    const file = uploadOf(fileId)?.file;
    if (!file) return;
    await addFile(this.#api, this.#import, file, kind)
      .then(() => this.#remove(fileId))
      .catch((error) => this.#say(this.#reason(error)));
  }

  #draw(): void {
    const rows = [...this.#rows.values()];
    for (const { known, draw } of rows) draw(uploadOf(known.fileId));
    if (this.#saysUploading && rows.every(({ known }) => known.offset >= known.size)) {
      this.#saysUploading = false;
      document.dispatchEvent(new Event('page-changed'));
    }
    for (const file of refusedOf(this.#import)) void this.#refuse(file);
  }

  /** The service has removed the file, as it is no export. A draft without files is of no use to anybody. */
  async #refuse({ fileId, importId, problem }: RefusedFile): Promise<void> {
    forget(fileId);
    this.#rows.get(fileId)?.element.remove();
    this.#rows.delete(fileId);
    refusals.add(problem);
    tellRefusals();
    await this.#taking;
    if (this.#rows.size > 0) return this.#reload();
    if (hasUploads(importId)) return;
    // Files that are chosen from now on get a draft of their own, and no page of this one comes any more.
    reloading.abort();
    if (this.#import === importId) {
      this.#created = '';
      this.removeAttribute('import');
    }
    await discardDraft(this.#api, importId).catch(() => {}); // it can be discarded by hand
    if (!this.#import) this.#visit(this.getAttribute('pages') as string);
  }

  sayRefusals(): void {
    if (refusals.size > 0) this.#say([...refusals].join(' '));
  }

  #say(text: string): void {
    const alert = this.querySelector<HTMLElement>('[role=alert]');
    if (!alert) return;
    alert.hidden = text === '';
    alert.textContent = text;
  }
}

function over(event: DragEvent, zone: HTMLElement, isOver: boolean): void {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  zone.classList.toggle('over', isOver);
}

/** Users and hashes are told apart by their content, on the service; parameters are a few lines of any text. */
function kindOf({ name, size }: File): Kind {
  return size < 2 ** 16 && /param|config|signer/i.test(name) ? 'hash_parameters' : 'users';
}

function put(text: string | undefined, values: Record<string, string>): string {
  return (text ?? '').replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

customElements.define('upload-files', UploadFiles);
