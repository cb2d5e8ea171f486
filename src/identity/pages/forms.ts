/**
 * The pages behind the links of mails. They work without JavaScript; a GET shows a form and changes nothing. Forms go to
 * a relative address, as BASE_URL may have a path.
 */
import { html } from '../../mail/html.ts';
import type { Page } from './layout.ts';

/** What the link brings, and what the form sends on. */
export interface Link {
  userId: string;
  code: string;
}

export function verifyForm(link: Link, problem?: string): Page {
  return {
    title: titled('Confirm your email address', problem),
    body: html`<h1>Confirm your email address</h1>
${alert(problem)}
<p id="why">Press the button to confirm that the mail reached you.</p>
<form method="post" action="verify">
${hidden(link)}
<button type="submit" aria-describedby="why" autofocus>Confirm email address</button>
</form>`,
  };
}

export function passwordForm(link: Link, problem?: string): Page {
  const invalid = problem ? html` aria-invalid="true" aria-describedby="problem"` : undefined;
  return {
    title: titled('Choose your password', problem),
    body: html`<h1>Choose your password</h1>
${alert(problem)}
<p>This confirms your email address and makes your account ready to use.</p>
<form method="post" action="init">
${hidden(link)}
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required autofocus${invalid}>
<label for="repeated">New password again</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" required${invalid}>
<button type="submit">Set password</button>
</form>`,
  };
}

export function messagePage(title: string, message: string): Page {
  return { title, body: html`<h1 tabindex="-1" autofocus>${title}</h1>\n<p role="status">${message}</p>` };
}

/** Screen readers read the title first. */
function titled(title: string, problem: string | undefined): string {
  return problem ? `Problem: ${title}` : title;
}

function alert(problem: string | undefined) {
  return problem ? html`<p class="problem" id="problem" role="alert">${problem}</p>` : undefined;
}

function hidden({ userId, code }: Link) {
  return html`<input type="hidden" name="userId" value="${userId}">
<input type="hidden" name="code" value="${code}">`;
}
