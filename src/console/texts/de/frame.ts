/** The German texts of ../frame.ts. */

export const FRAME = {
  product: 'Muster',
  skip: 'Zum Inhalt springen',
  navigation: 'Hauptmenü',
  menu: 'Menü',
  signOut: 'Abmelden',
  account: 'Ihr Konto:',
  imports: 'Importe',
  users: 'Benutzer',
  organizations: 'Organisationen',
  clients: 'Clients',
  system: 'System',
  sentBefore:
    'Dieses Formular wurde schon einmal gesendet und nicht noch einmal ausgeführt. Sie sehen hier den jetzigen Stand.',
};

export const ONCE = {
  title: 'Jetzt kopieren',
  warning: 'Das wird nur jetzt angezeigt. Kopieren Sie es an einen sicheren Ort, bevor Sie diese Seite verlassen.',
  done: 'Ich habe es kopiert',
  copy: 'Kopieren',
  copied: 'Kopiert',
};

export const ERRORS = {
  400: {
    heading: 'Diese Anfrage kann nicht ausgeführt werden',
    message: 'Bitte prüfen Sie Ihre Eingaben und versuchen Sie es noch einmal.',
  },
  401: { heading: 'Ihre Sitzung ist beendet', message: 'Melden Sie sich wieder an, um dort weiterzumachen.' },
  403: { heading: 'Darauf haben Sie keinen Zugriff', message: 'Es gibt das nicht, oder Ihre Rolle umfasst es nicht.' },
  404: { heading: 'Nicht gefunden', message: 'Das gibt es nicht oder nicht mehr.' },
  409: {
    heading: 'Das hat sich inzwischen geändert',
    message: 'Laden Sie die Seite neu und versuchen Sie es noch einmal.',
  },
  429: {
    heading: 'Zu viele Anfragen',
    message: 'Bitte warten Sie einen Moment und versuchen Sie es dann noch einmal.',
  },
  500: {
    heading: 'Etwas ist schiefgegangen',
    message: 'Das ist ein Fehler auf unserer Seite. Bitte versuchen Sie es später noch einmal.',
  },
  503: {
    heading: 'Bitte versuchen Sie es gleich noch einmal',
    message: 'Der Dienst ist gerade nicht verfügbar. Ihre Daten sind sicher, und Importe laufen von selbst weiter.',
  },
  form: 'Das Formular wurde nicht angenommen: Es kam nicht von dieser Konsole. Laden Sie die Seite neu und versuchen Sie es noch einmal.',
  inputKept: 'Ihre Eingaben sind noch da: Sie finden sie danach wieder im Formular.',
  inputLost: 'Ihre Eingaben sind zu lang, um aufbewahrt zu werden. Gehen Sie nach der Anmeldung im Browser zurück.',
  signIn: 'Wieder anmelden',
  back: 'Zurück zur Konsole',
  retry: 'Noch einmal versuchen',
  retryIn: (duration: string) => `Sie können es in ${duration} noch einmal versuchen, ab`,
  reference: 'Referenz',
};

export const NO_ROLE = {
  title: 'Kein Zugriff',
  heading: 'Sie haben noch keine Rolle in der Konsole',
  signedInAs: (name: string) => `Sie sind als ${name} angemeldet.`,
  account: 'Ihr Konto',
  ask: (organization: string) =>
    `Um Benutzer und Importe zu verwalten, bitten Sie einen Eigentümer von ${organization} oder den Administrator dieses Dienstes um die Rolle ORG_OWNER. Dafür brauchen sie Ihre Benutzer-ID:`,
};

export const LIVE = {
  on: 'Live',
  stale: 'Verbindung seit {time} unterbrochen. Wird wiederhergestellt …',
  ended: 'Ihre Sitzung ist beendet. Laden Sie die Seite neu, um sich wieder anzumelden.',
};
