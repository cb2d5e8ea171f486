/** The texts of the mailbox. */
import * as de from './de/mailbox.ts';
import { localized } from './language.ts';

const englishMailbox = {
  title: 'Mailbox',
  about: 'No mail server is set (SMTP_URL), so mails and text messages are kept here instead of being sent.',
  caption: 'Mails and text messages, newest first',
  to: 'To',
  subject: 'Subject',
  textMessage: 'Text message',
  sent: 'Written',
  next: 'Older mails',
  first: 'Newest mails',
  emptyHeading: 'No mails yet',
  empty: 'A mail appears here when an address must be confirmed or a password chosen.',
  notFound: 'This mail does not exist or no longer exists.',
  off: 'Mails go to a mail server, so there is no mailbox here.',
  links: 'Links in this mail',
  linksHint:
    'They work once, for the person to whom the mail is addressed. Open them in another browser or a private window.',
  asText: 'Text',
  asHtml: 'As a mail program shows it',
};

export const MAILBOX = localized(englishMailbox, de.MAILBOX);
