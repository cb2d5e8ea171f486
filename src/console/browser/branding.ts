/** `<branding-form>`: shows what is typed in the previews beside it, and the mail whose sentences are being typed. `<logo-file>`: stores the logo that is chosen. */
class BrandingForm extends HTMLElement {
  connectedCallback(): void {
    for (const button of this.querySelectorAll('.without-script')) button.remove();
    this.addEventListener('focusin', ({ target }) => {
      const { mail } = (target as HTMLElement).dataset;
      const shown = this.querySelector<HTMLSelectElement>('select[name=shown]');
      if (mail === undefined || !shown || shown.value === mail) return;
      shown.value = mail;
      this.#show();
    });
    let due: ReturnType<typeof setTimeout> | undefined;
    this.addEventListener('input', () => {
      clearTimeout(due);
      due = setTimeout(() => this.#show(), 300);
    });
  }

  #show(): void {
    const form = this.querySelector('form');
    if (!form) return;
    const query = new URLSearchParams();
    const typed = new FormData(form);
    for (const [name, value] of typed) {
      if (typeof value === 'string' && value.trim() !== '' && !name.startsWith('texts.')) query.set(name, value.trim());
    }
    const sentences = typed.get(`texts.${typed.get('shown')}`);
    if (typeof sentences === 'string') query.set('sentences', packed(sentences.replaceAll('\r\n', '\n').trim()));
    for (const frame of this.querySelectorAll('iframe')) frame.src = `${frame.dataset.frame}?${query}`;
  }
}

/** As the page packs them. */
function packed(sentences: string): string {
  const bytes = Array.from(new TextEncoder().encode(sentences), (byte) => String.fromCharCode(byte)).join('');
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

class LogoFile extends HTMLElement {
  connectedCallback(): void {
    const buttons = this.querySelector<HTMLElement>('.with-script');
    if (buttons) buttons.hidden = false;
    for (const form of this.querySelectorAll('.without-script')) form.remove();
    const input = this.querySelector('input');
    input?.addEventListener('change', async () => {
      const [file] = input.files ?? [];
      if (file) await this.#send({ logo: await dataUrl(file) });
      input.value = '';
    });
    this.querySelector('[data-remove]')?.addEventListener('click', () => this.#send({ reset: ['logo'] }));
  }

  /** In the name of the person, as all scripts of the console call the API. */
  async #send(body: object): Promise<void> {
    const org = this.getAttribute('org') ?? '';
    const path = org === '' ? 'admin/v1/policies/branding' : 'management/v1/policies/branding';
    const url = `${location.pathname.slice(0, location.pathname.indexOf('/console/'))}/console/api/${path}`;
    const headers: Record<string, string> = org === '' ? {} : { 'x-service-orgid': org };
    const sent = { ...headers, 'content-type': 'application/json' };
    const answer = await fetch(url, { method: 'PUT', headers: sent, body: JSON.stringify(body) });
    const { message = '' } = (await answer.json().catch(() => ({}))) as { message?: string };
    const notice = this.querySelector<HTMLElement>('[role=alert]');
    if (notice) {
      notice.hidden = answer.ok;
      notice.textContent = answer.ok ? '' : `${this.getAttribute('refused')} ${message}`;
    }
    if (!answer.ok) return;
    const { policy } = (await (await fetch(url, { headers })).json()) as {
      policy: { logoUrl?: string; own: string[] };
    };
    this.#show(policy.logoUrl, policy.own.includes('logo'));
  }

  #show(logoUrl: string | undefined, isOwn: boolean): void {
    const image = this.querySelector('img');
    if (image) {
      image.hidden = logoUrl === undefined;
      if (logoUrl !== undefined) image.src = new URL(logoUrl).pathname;
    }
    const none = this.querySelector<HTMLElement>('[data-none]');
    if (none) none.hidden = logoUrl !== undefined;
    const remove = this.querySelector<HTMLElement>('[data-remove]');
    if (remove) remove.hidden = !isOwn;
    // The previews load what is stored again.
    document.querySelector('branding-form')?.dispatchEvent(new Event('input'));
  }
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

customElements.define('branding-form', BrandingForm);
customElements.define('logo-file', LogoFile);
