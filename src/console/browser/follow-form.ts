/**
 * `<follow-form>`: when something else is chosen in its form, shows what that means in the parts marked `data-follow`, as
 * its button `show` does with a new page. Nothing that was typed or has the focus is replaced.
 */
class FollowForm extends HTMLElement {
  #request: XMLHttpRequest | undefined;

  connectedCallback(): void {
    // The form inside may not have been read yet.
    queueMicrotask(() => {
      for (const button of this.querySelectorAll<HTMLElement>('.without-script')) button.hidden = true;
    });
    this.addEventListener('change', () => this.#follow());
  }

  disconnectedCallback(): void {
    this.#request?.abort();
  }

  #follow(): void {
    const form = this.querySelector('form');
    if (!form) return;
    this.#request?.abort();
    const url = new URL(form.action);
    // What was mapped before has been typed over.
    for (const name of [...url.searchParams.keys()]) if (name.startsWith('map.')) url.searchParams.delete(name);
    url.searchParams.set('show', '1');
    // An address takes fewer fields than a form, and what is empty needs none.
    for (const [name, value] of new FormData(form)) if (value !== '') url.searchParams.set(name, String(value));
    url.searchParams.delete('formId');
    const request = new XMLHttpRequest();
    this.#request = request;
    request.open('GET', url);
    request.setRequestHeader('Accept', 'text/html');
    // It is loaded as a document, which runs nothing.
    request.responseType = 'document';
    request.addEventListener('load', () => this.#show(request.responseXML));
    request.send();
  }

  #show(next: Document | null): void {
    // Another page, such as that of a session that has ended, says nothing about the form.
    if (!next?.querySelector('follow-form')) return;
    for (const part of this.querySelectorAll('[data-follow]')) {
      const other = next.getElementById(part.id);
      if (other) part.replaceChildren(...[...other.childNodes].map((node) => document.adoptNode(node)));
    }
  }
}

customElements.define('follow-form', FollowForm);
