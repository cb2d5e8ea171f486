/** One file in `<upload-files>`: its name, how far it is, what can be done. It sets text, never markup. */
import type { Upload } from './tus.ts';
import type { Kind } from './uploads.ts';

export type Texts = Record<string, string> & { kinds: Record<Kind, string> };

/** As the service knows it. */
export interface UploadedFile {
  fileId: string;
  name: string;
  kind: Kind;
  size: number;
  offset: number;
}

export interface Row {
  known: UploadedFile;
  element: HTMLElement;
  /** @param upload of this page; undefined: the file is complete, or its upload was interrupted */
  draw(upload: Upload | undefined): void;
}

export interface RowActions {
  resume(file: File): void;
  remove(): void;
  changeKind(kind: Kind): void;
}

export function openRow(known: UploadedFile, texts: Texts, actions: RowActions): Row {
  const element = make('li', 'upload');
  const said = make('span', 'said-state');
  said.setAttribute('role', 'status');
  const speed = make('span', 'soft');
  const bar = progressOf(known);
  const name = make('strong', '', known.name);
  const line = make('div', 'line');
  const buttons = make('div', 'buttons');
  const again = fileInput(known, texts, actions);
  const signIn = signInLink(texts);
  const toggle = button('', known, texts);
  const remove = button('remove', known, texts);
  remove.addEventListener('click', () => actions.remove());
  const kind = kindSelect(known, texts, actions);
  buttons.append(kind, again, signIn, toggle, remove);
  line.append(name, make('span', 'soft', sizeOf(known.size)), said, speed, buttons);
  element.append(line, bar);
  let current: Upload | undefined;
  toggle.addEventListener('click', () => (current?.state === 'paused' ? current.start() : current?.pause()));

  return {
    known,
    element,
    draw(upload) {
      current = upload;
      const offset = upload?.offset ?? known.offset;
      if (upload?.state === 'done') known.offset = known.size;
      const state = upload?.state ?? (known.offset >= known.size ? 'done' : 'broken');
      bar.value = offset;
      element.className = `upload ${state}`;
      setText(said, stateText(texts, state, offset, known.size));
      const rate = upload?.state === 'uploading' ? upload.rate : 0;
      setText(speed, rate > 0 ? speedText(texts, rate, known.size - offset) : '');
      again.hidden = state !== 'broken';
      signIn.hidden = state !== 'signed-out';
      toggle.hidden = !upload?.isOpen;
      label(toggle, state === 'paused' ? 'resume' : 'pause', known, texts);
      (kind.firstElementChild as HTMLSelectElement).disabled = upload === undefined;
    },
  };
}

function progressOf({ size, name }: UploadedFile): HTMLProgressElement {
  const bar = document.createElement('progress');
  bar.max = size;
  bar.setAttribute('aria-label', name);
  return bar;
}

/** Signs in in another window, as this one has the files. */
function signInLink(texts: Texts): HTMLAnchorElement {
  const link = make('a', 'button small', texts.signIn) as HTMLAnchorElement;
  link.href = `${location.pathname.split('/imports')[0]}/sign-in?to=${encodeURIComponent(location.pathname)}`;
  link.target = '_blank';
  return link;
}

/** In steps of 5 %, as screen readers read every change. */
function stateText(texts: Texts, state: string, offset: number, size: number): string {
  const percent = size === 0 ? 100 : Math.floor((offset / size) * 20) * 5;
  const name = state === 'signed-out' ? 'signedOut' : state;
  return (texts[name] ?? '').replace('{percent}', String(percent));
}

function speedText(texts: Texts, rate: number, left: number): string {
  const seconds = Math.ceil(left / rate);
  const time = seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
  return (texts.rate ?? '').replace('{rate}', `${sizeOf(rate)}/s`).replace('{left}', time);
}

function sizeOf(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  const digits = value < 10 && unit > 0 ? 1 : 0;
  const written = value.toLocaleString(document.documentElement.lang, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
  return `${written} ${units[unit]}`;
}

function kindSelect(known: UploadedFile, texts: Texts, actions: RowActions): HTMLElement {
  const select = document.createElement('select');
  select.setAttribute('aria-label', (texts.kind ?? '').replace('{name}', known.name));
  for (const [kind, text] of Object.entries(texts.kinds))
    select.add(new Option(text, kind, kind === known.kind, kind === known.kind));
  select.addEventListener('change', () => actions.changeKind(select.value as Kind));
  const around = make('span');
  around.append(select);
  return around;
}

function fileInput(known: UploadedFile, texts: Texts, actions: RowActions): HTMLElement {
  const label = make('label', 'button small', (texts.continue ?? '').replace('{name}', known.name));
  const input = document.createElement('input');
  input.type = 'file';
  input.className = 'sr';
  input.addEventListener('change', () => {
    const [file] = input.files ?? [];
    if (file) actions.resume(file);
    input.value = '';
  });
  label.append(input);
  return label;
}

function button(action: string, known: UploadedFile, texts: Texts): HTMLButtonElement {
  const made = make('button', 'quiet small') as HTMLButtonElement;
  made.type = 'button';
  if (action) label(made, action, known, texts);
  return made;
}

function label(element: HTMLElement, action: string, { name }: UploadedFile, texts: Texts): void {
  setText(element, texts[action] ?? '');
  const full = (texts.ofFile ?? '').replace('{action}', texts[action] ?? '').replace('{name}', name);
  if (element.getAttribute('aria-label') !== full) element.setAttribute('aria-label', full);
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function make(tag: string, className = '', text = ''): HTMLElement {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}
