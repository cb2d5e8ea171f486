/** The German texts of ../mailbox.ts. */

export const MAILBOX = {
  title: 'Postfach',
  about:
    'Es ist kein Mailserver eingestellt (SMTP_URL). Deshalb werden E-Mails und SMS hier aufbewahrt und nicht gesendet.',
  caption: 'E-Mails und SMS, neueste zuerst',
  to: 'An',
  subject: 'Betreff',
  textMessage: 'SMS',
  sent: 'Geschrieben',
  next: 'Ältere E-Mails',
  first: 'Neueste E-Mails',
  emptyHeading: 'Noch keine E-Mails',
  empty: 'Hier erscheint eine E-Mail, wenn eine Adresse zu bestätigen oder ein Passwort zu wählen ist.',
  notFound: 'Diese E-Mail gibt es nicht oder nicht mehr.',
  off: 'E-Mails gehen an einen Mailserver, deshalb gibt es hier kein Postfach.',
  links: 'Links in dieser E-Mail',
  linksHint:
    'Sie gelten einmal, für die Person, an die die E-Mail gerichtet ist. Öffnen Sie sie in einem anderen Browser oder einem privaten Fenster.',
  asText: 'Text',
  asHtml: 'Wie ein Mailprogramm sie zeigt',
};
