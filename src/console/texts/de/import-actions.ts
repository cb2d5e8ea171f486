/** The German texts of ../import-actions.ts. */
import { numberText } from '../language.ts';

const users = (count: number) => `${numberText(count)} Benutzer`;
const mails = (count: number) => (count === 1 ? '1 E-Mail' : `${numberText(count)} E-Mails`);
const each = (count: number, one: string, many: string) => (count === 1 ? one : many);

export const ACTIONS = {
  back: 'Zurück zum Import',
  timeout: 'Zeitgrenze ab jetzt',
  timeoutHint: 'Zum Beispiel 30m oder 1h30m. Ohne Eingabe gilt die Zeit, die übrig war.',
  timeoutNeeded: 'Zum Beispiel 30m oder 1h30m. Die alte Grenze ist vorbei, deshalb ist eine neue nötig.',
  confirm: (id: string) => `Geben Sie zur Bestätigung ${id} ein`,
  notConfirmed: (id: string) => `Geben Sie die Nummer des Imports ein: ${id}.`,
  unavailable: 'Das ist im jetzigen Status des Imports nicht möglich.',
  pause: {
    button: 'Anhalten',
    title: 'Diesen Import anhalten?',
    does: (done: number, open: number) => [
      `${users(done)} ${each(done, 'ist', 'sind')} erledigt und ${each(done, 'bleibt', 'bleiben')} so.`,
      `${users(open)} ${each(open, 'wartet', 'warten')}, bis Sie fortsetzen. Die Zeitgrenze steht so lange still.`,
    ],
    done: 'Der Import ist angehalten. Kein Benutzer wird geschrieben, bis Sie ihn fortsetzen.',
  },
  cancel: {
    button: 'Import abbrechen',
    title: 'Diesen Import abbrechen?',
    does: (done: number, open: number) => [
      `${users(done)} ${each(done, 'ist', 'sind')} erledigt und ${each(done, 'bleibt', 'bleiben')} so. Rückgängigmachen entfernt sie.`,
      `${users(open)} ${each(open, 'wird', 'werden')} nicht importiert, wenn Sie nicht fortsetzen.`,
    ],
    done: 'Der Import ist abgebrochen. Es werden keine Benutzer mehr geschrieben.',
  },
  resume: {
    button: 'Fortsetzen',
    title: 'Diesen Import fortsetzen?',
    does: (open: number) => [`${users(open)} ${each(open, 'ist', 'sind')} noch zu importieren.`],
    done: 'Der Import läuft wieder.',
    ended: 'Der Import lief wieder und ist beendet.',
  },
  retry: {
    button: 'Fehlgeschlagene Benutzer noch einmal senden',
    title: 'Die fehlgeschlagenen Benutzer noch einmal senden?',
    does: ({ corrected, refused, invalid }: Record<'corrected' | 'refused' | 'invalid', number>, open: number) => [
      ...(corrected > 0
        ? [
            `${users(corrected)}, ${each(corrected, 'der korrigiert wurde, wird', 'die korrigiert wurden, werden')} noch einmal gesendet.`,
          ]
        : []),
      ...(refused > 0
        ? [
            `${users(refused)}, ${each(refused, 'der beim Schreiben fehlschlug, wird', 'die beim Schreiben fehlschlugen, werden')} noch einmal gesendet.`,
          ]
        : []),
      ...(open > 0
        ? [`${users(open)}, ${each(open, 'der noch offen ist, wird', 'die noch offen sind, werden')} auch verarbeitet.`]
        : []),
      ...(invalid > 0
        ? [
            `${users(invalid)}, ${each(invalid, 'der ungültig ist, bleibt', 'die ungültig sind, bleiben')} fehlgeschlagen, bis sie korrigiert sind.`,
          ]
        : []),
    ],
    nobody: 'Niemand kann noch einmal gesendet werden, bevor jemand korrigiert ist.',
    done: 'Die fehlgeschlagenen Benutzer werden noch einmal gesendet.',
    ended: 'Die fehlgeschlagenen Benutzer wurden noch einmal gesendet, und der Import ist beendet.',
  },
  send_mails: {
    button: 'E-Mails senden',
    title: 'Die zurückgehaltenen E-Mails senden?',
    does: (held: number) => [
      `${mails(held)} ${each(held, 'geht', 'gehen')} an Benutzer, die ${each(held, 'sie', 'sie')} noch brauchen. Das kann nicht zurückgenommen werden.`,
    ],
    done: 'Die E-Mails sind unterwegs.',
  },
  sign_in_mails: {
    button: 'E-Mail an alle, die sich nicht angemeldet haben',
    title: 'Eine E-Mail an alle senden, die sich nicht angemeldet haben?',
    does: (n: number) => [
      n === 0
        ? 'Jetzt würde niemand eine E-Mail bekommen.'
        : `${users(n)} ${each(n, 'bekommt', 'bekommen')} eine E-Mail, die sagt, wie man sich anmeldet. Wer sich vorher anmeldet, bekommt keine.`,
    ],
    others: 'An die anderen geht keine E-Mail:',
    url: 'Wo sie sich anmelden',
    urlHint: 'Die Adresse Ihrer Anwendung, zu der die E-Mail führt. Sie muss für die Organisation erlaubt sein.',
    done: 'Die E-Mails werden geschrieben. Sie sehen hier, wie viele gesendet wurden. Wer in den letzten 24 Stunden eine bekam, bekommt keine zweite.',
    ended: (n: number) =>
      `Die E-Mails sind geschrieben: insgesamt ${mails(n)}. Wer in den letzten 24 Stunden eine bekam, bekommt keine zweite.`,
    stopped:
      'Nicht alle E-Mails wurden geschrieben: Wer sie verlangte, darf das nicht mehr, oder der Import lief wieder oder wurde rückgängig gemacht.',
  },
  undo: {
    button: 'Rückgängig machen',
    title: 'Diesen Import rückgängig machen?',
    does: (removed: number, kept: number, { sent, unsent }: { sent: number; unsent: number }) => [
      `${users(removed)} ${each(removed, 'wird', 'werden')} gelöscht. Ihre IDs werden nur in ihrer Organisation frei.`,
      ...(sent > 0
        ? [
            `${mails(sent)} ${each(sent, 'wurde', 'wurden')} schon gesendet. ${each(sent, 'Sie bleibt im Postfach, und ihr Link führt', 'Sie bleiben in den Postfächern, und ihre Links führen')} nirgends hin, wenn der Benutzer gelöscht ist.`,
          ]
        : []),
      ...(unsent > 0
        ? [
            `${mails(unsent)}, die noch nicht gesendet ${each(unsent, 'ist, geht', 'sind, gehen')} nicht an Benutzer, die gelöscht werden.`,
          ]
        : []),
      kept > 0 ? `${users(kept)} ${each(kept, 'wird', 'werden')} behalten:` : 'Kein Benutzer wird behalten.',
    ],
    done: 'Das Rückgängigmachen läuft. Sie sehen hier, welche Benutzer entfernt und welche behalten werden.',
    ended: (removed: number) =>
      `Das Rückgängigmachen ist beendet: ${users(removed)} ${each(removed, 'wurde', 'wurden')} entfernt.`,
  },
};

export const UNMAILED = {
  SIGNED_IN: 'haben sich angemeldet',
  DELETED: 'wurden gelöscht',
  INACTIVE: 'sind inaktiv oder gesperrt',
  NO_ADDRESS: 'haben keine E-Mail-Adresse',
  LEFT_OUT: 'sind von Codes per E-Mail ausgenommen und haben kein Passwort',
  MAIL_WAITS: 'haben eine E-Mail, die noch zu senden ist',
  MAILED_LATELY: 'haben in den letzten 24 Stunden so eine E-Mail bekommen',
  MAIL_REFUSED: 'haben eine Adresse, die die letzte E-Mail abgelehnt hat',
};
