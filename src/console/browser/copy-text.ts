/** `<copy-text>`: a button that copies the text beside it. Browsers allow it on secure pages; elsewhere it stays hidden. */
class CopyText extends HTMLElement {
  connectedCallback(): void {
    const button = this.querySelector('button');
    if (!button || !navigator.clipboard) return;
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(this.querySelector('code')?.textContent ?? '');
      button.textContent = this.getAttribute('said');
    });
  }
}

customElements.define('copy-text', CopyText);
