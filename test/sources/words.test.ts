/** Tables with headings and values in other languages than English, as people save them. */
import assert from 'node:assert/strict';
import test from 'node:test';
import iconv from 'iconv-lite';
import { openConversion } from '../../src/sources/convert.ts';
import type { Entry } from '../../src/sources/entry.ts';
import { givenMapping, mappingFor } from '../../src/sources/mapping.ts';
import { inspect } from '../../src/sources/read/file.ts';
import { asFileOf, guessSources } from '../../src/sources/recognize.ts';
import { csv } from '../../src/sources/systems/mapped.ts';
import { fieldOfName, genderNamed, languageNamed } from '../../src/sources/words.ts';

/** The entries of a table, which is recognized without a name; and the ids of their notes. */
async function convertedFrom(
  text: string,
  encoding: 'utf-8' | 'windows-1252',
): Promise<{ entries: Entry[]; notes: string[] }> {
  const bytes = iconv.encode(text, encoding);
  const file = await inspect(
    {
      name: 'users.csv',
      size: bytes.length,
      async *read() {
        yield bytes;
      },
      close: async () => {},
    },
    { encoding },
  );
  const [guess] = await guessSources(file);
  assert.equal(guess?.source.name, 'csv');
  const conversion = await openConversion({
    source: csv,
    files: [await asFileOf(csv, file)],
    options: {},
    orgId: 'acme',
  });
  const entries: Entry[] = [];
  const notes: string[] = [];
  try {
    for await (const outcomes of conversion.outcomes()) {
      for (const { entry, notes: found = [], problem } of outcomes) {
        assert.equal(problem, undefined);
        if (entry) entries.push(entry);
        notes.push(...found.map(({ id }) => id));
      }
    }
  } finally {
    await conversion.close();
  }
  return { entries, notes };
}

const TABLES: Record<string, { text: string; first: object }> = {
  German: {
    text: `Kundennummer;Anrede;Vorname;Name;E-Mail-Adresse;Telefon;Sprache;Status
k-1;Frau Dr.;Jürgen;Müßig;juergen@words.example;+41446681800;Französisch;aktiv
k-2;Herr;Bärbel;Größ;baerbel@words.example;;Deutsch;gesperrt
k-3;Herr;Öz;Öl;oez@words.example;;Deutsch;wunderlich
`,
    first: {
      userId: 'k-1',
      profile: { firstName: 'Jürgen', lastName: 'Müßig', preferredLanguage: 'fr', gender: 'GENDER_FEMALE' },
      phone: '+41446681800',
    },
  },
  French: {
    text: `N° client;Civilité;Nom;Prénom;Courriel;Téléphone;Langue;Actif
f-1;Mme;Lefèvre;Zoé;zoe@words.example;+33142685300;français;oui
f-2;M.;Bête;Noël;noel@words.example;;anglais;non
f-3;M.;Été;Léo;leo@words.example;;anglais;peut-être
`,
    first: {
      userId: 'f-1',
      profile: { firstName: 'Zoé', lastName: 'Lefèvre', preferredLanguage: 'fr', gender: 'GENDER_FEMALE' },
      phone: '+33142685300',
    },
  },
  Spanish: {
    text: `Nº de cliente;Sexo;Nombre;Apellidos;Correo electrónico;Teléfono móvil;Idioma;Estado
e-1;M;Begoña;Núñez;begona@words.example;+34910000000;Español;activo
e-2;H;Iñaki;Muñoz;inaki@words.example;;Inglés;bloqueado
e-3;H;Íñigo;Peña;inigo@words.example;;Inglés;quizás
`,
    first: {
      userId: 'e-1',
      profile: { firstName: 'Begoña', lastName: 'Núñez', preferredLanguage: 'es', gender: 'GENDER_FEMALE' },
      phone: '+34910000000',
    },
  },
  Italian: {
    text: `Codice cliente;Sesso;Nome;Cognome;Indirizzo e-mail;Cellulare;Lingua;Attivo
i-1;femmina;Noè;Niccolò;noe@words.example;+390612345678;tedesco;sì
i-2;maschio;Ugo;Montà;cesaro@words.example;;italiano;no
i-3;maschio;Dante;Bontà;toto@words.example;;italiano;forse
`,
    first: {
      userId: 'i-1',
      profile: { firstName: 'Noè', lastName: 'Niccolò', preferredLanguage: 'de', gender: 'GENDER_FEMALE' },
      phone: '+390612345678',
    },
  },
  Portuguese: {
    text: `Código do cliente;Gênero;Nome;Sobrenome;Endereço de e-mail;Celular;Idioma;Situação
p-1;Feminino;Conceição;Gonçalves;conceicao@words.example;+551132345678;Português;ativo
p-2;Masculino;João;Simões;joao@words.example;;inglês;bloqueado
p-3;Masculino;Estêvão;Guimarães;estevao@words.example;;inglês;talvez
`,
    first: {
      userId: 'p-1',
      profile: { firstName: 'Conceição', lastName: 'Gonçalves', preferredLanguage: 'pt', gender: 'GENDER_FEMALE' },
      phone: '+551132345678',
    },
  },
  Dutch: {
    text: `Klantnummer;Aanhef;Voornaam;Achternaam;E-mailadres;Mobiel;Taal;Status
n-1;Mevrouw;Daniëlle;Coöper;danielle@words.example;+31201234567;Duits;actief
n-2;Dhr.;Noël;Reünie;noel2@words.example;;Nederlands;geblokkeerd
n-3;Dhr.;Zoë;Eén;zoe2@words.example;;Nederlands;misschien
`,
    first: {
      userId: 'n-1',
      profile: { firstName: 'Daniëlle', lastName: 'Coöper', preferredLanguage: 'de', gender: 'GENDER_FEMALE' },
      phone: '+31201234567',
    },
  },
};

for (const [language, { text, first }] of Object.entries(TABLES)) {
  for (const encoding of ['utf-8', 'windows-1252'] as const) {
    test(`a table with ${language} headings and values in ${encoding}: all is known, and an unknown state stays out`, async () => {
      const { entries, notes } = await convertedFrom(text, encoding);
      const [one = assert.fail(), ...others] = entries;
      const { user } = one;
      const { firstName, lastName, preferredLanguage, gender } = user.profile ?? {};
      assert.deepEqual(
        {
          userId: one.userId,
          profile: { firstName, lastName, preferredLanguage, gender },
          phone: user.phone?.phone,
        },
        first,
      );
      assert.match(user.email?.email ?? '', /@words\.example$/);
      assert.deepEqual(
        entries.map(({ state }) => state),
        [undefined, 'USER_STATE_INACTIVE', 'USER_STATE_INACTIVE'],
      );
      assert.deepEqual(
        others.map((other) => other.user.profile?.gender),
        ['GENDER_MALE', 'GENDER_MALE'],
      );
      assert.deepEqual(
        notes.filter((id) => id !== 'EMAIL-UNSAID'),
        ['STATE-UNKNOWN'],
      );
    });
  }
}

test('a name is a first, a last or a whole name by the columns beside it', () => {
  const columnsOf = (...names: string[]) => {
    const record = Object.fromEntries(names.map((name) => [name, 'x']));
    const { firstName, lastName, displayName } = mappingFor(record, givenMapping({})).columns;
    return [firstName, lastName, displayName];
  };
  assert.deepEqual(columnsOf('Vorname', 'Name'), ['Vorname', 'Name', undefined]);
  assert.deepEqual(columnsOf('Vorname', 'Name', 'Anzeigename'), ['Vorname', 'Name', 'Anzeigename']);
  assert.deepEqual(columnsOf('Vorname', 'Nachname', 'Name'), ['Vorname', 'Nachname', 'Name']);
  assert.deepEqual(columnsOf('Name', 'Mail'), [undefined, undefined, 'Name']);
  assert.deepEqual(columnsOf('first_name', 'name'), ['first_name', undefined, 'name']);
  assert.deepEqual(columnsOf('Nom', 'Courriel'), [undefined, undefined, 'Nom']);
  assert.deepEqual(columnsOf('Nom', 'Prénom'), ['Prénom', 'Nom', undefined]);
  assert.deepEqual(columnsOf('Nombre'), [undefined, undefined, 'Nombre']);
  assert.deepEqual(columnsOf('Nome', 'Cognome'), ['Nome', 'Cognome', undefined]);
  assert.equal(fieldOfName('stadt', {}), undefined);
});

test('what a person says about a column is not completed by its name', () => {
  const map = { lastName: '', email: 'Name' };
  assert.deepEqual(mappingFor({ Vorname: 'x', Name: 'x' }, givenMapping({ map })).columns, {
    ...map,
    firstName: 'Vorname',
  });
});

test('genders, forms of address and languages', () => {
  const genders = {
    female: 'Frau Prof. Dr.|Mme|Sra.|Sig.ra|mevr.|GENDER_FEMALE|W',
    male: 'Herr|M.|Sr.|dhr.|De heer|H',
  };
  for (const one of genders.female.split('|')) assert.equal(genderNamed(one), 'GENDER_FEMALE', one);
  for (const one of genders.male.split('|')) assert.equal(genderNamed(one), 'GENDER_MALE', one);
  assert.equal(genderNamed('keine Angabe'), 'GENDER_UNSPECIFIED');
  for (const one of ['Herr und Frau', 'm/w/d', 'Firma', 'toString', '']) assert.equal(genderNamed(one), undefined, one);
  const languages = { de: 'Deutsch|German|allemand|alemán|tedesco|Duits|Schweizerdeutsch', en: 'English (UK)|anglais' };
  for (const [tag, names] of Object.entries(languages))
    for (const one of names.split('|')) assert.equal(languageNamed(one), tag, one);
  for (const one of ['de', 'deu', 'de-CH', 'toString', 'Klingon', '']) assert.equal(languageNamed(one), undefined, one);
});
