/**
 * Moves between the steps of a new import without leaving the document while it is uploading files: a file that was
 * dropped is lost with its document. Without an upload, links and forms work as everywhere.
 */
import { isUploading } from './uploads.ts';

const STEPS = '[data-steps]';
const AGAIN_MS = 1000;
let here = location.pathname + location.search;

interface VisitOptions {
  form?: URLSearchParams;
  isBack?: boolean;
  /** Once it is aborted, the page is not shown. */
  signal?: AbortSignal;
}

/** Shows another page of the console in this document. It is loaded as a document, which runs nothing. */
export function visit(url: string, options: VisitOptions = {}): void {
  const { form, isBack = false, signal } = options;
  const request = new XMLHttpRequest();
  request.open(form ? 'POST' : 'GET', url);
  request.setRequestHeader('Accept', 'text/html');
  request.responseType = 'document';
  const again = () => setTimeout(() => signal?.aborted || visit(url, options), AGAIN_MS);
  request.addEventListener('load', () => {
    if (signal?.aborted) return;
    // The service is busy or starts again. Leaving this document would end the upload.
    if (request.status === 429 || request.status >= 500) return again();
    const next = request.responseXML?.querySelector('main');
    // Another page, such as that of a session that has ended, must not look like a step.
    if (!next?.querySelector(STEPS)) return location.assign(request.responseURL || url);
    if (!isBack && request.responseURL !== location.href) history.pushState(null, '', request.responseURL);
    here = location.pathname + location.search;
    show(next, request.responseXML?.title ?? '');
  });
  request.addEventListener('error', again);
  if (form) request.setRequestHeader('Content-Type', 'application/x-www-form-urlencoded');
  request.send(form ?? null);
}

function show(next: Element, title: string): void {
  const main = document.querySelector('main');
  if (!main) return;
  document.title = title;
  main.replaceChildren(...[...next.childNodes].map((node) => document.adoptNode(node)));
  main.focus();
  scrollTo(0, 0);
}

function isStep(url: URL): boolean {
  return url.origin === location.origin && /\/imports\/new\/\d+\/[a-z]+$/.test(url.pathname);
}

document.addEventListener('click', (event) => {
  const link = (event.target as Element).closest('a');
  if (!link || !isUploading() || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (!isStep(new URL(link.href))) return;
  event.preventDefault();
  visit(link.href);
});

document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (!isUploading() || form.method !== 'post' || !isStep(new URL(form.action))) return;
  event.preventDefault();
  const fields = [...new FormData(form, event.submitter)].map(([name, value]) => [name, String(value)]);
  visit(form.action, { form: new URLSearchParams(fields) });
});

addEventListener('popstate', () => {
  if (here === location.pathname + location.search) return; // another part of the same page
  if (isUploading()) visit(location.href, { isBack: true });
  else location.reload();
});
