/**
 * The part of a page that talks to the browser about passkeys. Without it, or in a browser without passkeys, the page is
 * complete: a form with `data-passkey` then stays hidden, or says what to do.
 *
 * The options are those of WebAuthn as JSON; the answer is sent with the form, as JSON.
 */
/** The question that waits for the person to choose a passkey in a field of the page, until a button asks another one. */
let waiting: AbortController | undefined;

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) prepare(form);

function prepare(form: HTMLFormElement): void {
  if (typeof PublicKeyCredential?.parseRequestOptionsFromJSON !== 'function') return;
  form.hidden = false;
  for (const note of document.querySelectorAll<HTMLElement>('[data-without]')) note.hidden = true;
  form.addEventListener('submit', (event) => {
    if (answerField(form).value !== '') return;
    event.preventDefault();
    void ask(form);
  });
  if (form.dataset.autofill !== undefined) void waitForChoice(form);
}

function answerField(form: HTMLFormElement): HTMLInputElement {
  return form.elements.namedItem('answer') as HTMLInputElement;
}

async function ask(form: HTMLFormElement): Promise<void> {
  waiting?.abort();
  const options = JSON.parse(form.dataset.passkey ?? '');
  try {
    const isNew = form.dataset.new !== undefined;
    const credential = isNew
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
    if (credential) send(form, credential);
  } catch {
    // The person closed the question, or has no passkey here.
    const note = form.querySelector<HTMLElement>('[data-failed]');
    if (note) note.hidden = false;
  }
}

/** Offers passkeys among the suggestions of the field for the name. */
async function waitForChoice(form: HTMLFormElement): Promise<void> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  waiting = new AbortController();
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(JSON.parse(form.dataset.passkey ?? ''));
  try {
    const credential = await navigator.credentials.get({ publicKey, mediation: 'conditional', signal: waiting.signal });
    if (credential) send(form, credential);
  } catch {
    // A button asked instead, or nothing was chosen.
  }
}

function send(form: HTMLFormElement, credential: Credential): void {
  answerField(form).value = JSON.stringify((credential as PublicKeyCredential).toJSON());
  form.requestSubmit();
}
