/** `<send-form>`: sends its form by itself, once, where the next step needs no decision. Without it, its button does. */
class SendForm extends HTMLElement {
  connectedCallback(): void {
    // The form inside may not have been read yet.
    queueMicrotask(() => this.querySelector('form')?.requestSubmit());
  }
}

customElements.define('send-form', SendForm);
