/** The building blocks of the screens. */
import { type Html, html } from '../../html.ts';

export interface Message {
  heading: string;
  message: string;
  more?: Html | undefined;
  link?: { href: string; text: string } | undefined;
}

/** A page that says one thing. */
export function messageBody({ heading, message, more, link }: Message): Html {
  return html`<section class="message">
<h1>${heading}</h1>
<p>${message}</p>
${more}
${link && html`<p><a class="button" href="${link.href}">${link.text}</a></p>`}
</section>`;
}
