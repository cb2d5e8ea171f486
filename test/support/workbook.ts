/** Makes workbooks (XLSX) part by part, so that tests can have what no program writes. */
import { crc32, deflateRawSync } from 'node:zlib';

/** A zip archive of these files. */
export function zipOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), packed]);
    const offset = Buffer.alloc(14);
    offset.writeUInt32LE(at, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, offset, Buffer.from(name)]));
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

const NUMBER_FORMATS = ['General', 'yyyy-mm-dd', 'h:mm:ss', '"d"0.00', '[Red]0', '[h]:mm'];

export interface WorkbookParts {
  /** XML of the rows, by the name of a sheet. */
  sheets: Readonly<Record<string, string>>;
  hidden?: readonly string[];
  /** XML of `<si>`. */
  texts?: string;
  isFrom1904?: boolean;
}

/** A workbook, in which the style of a cell is the place of its format in NUMBER_FORMATS. */
export function workbookOf({ sheets, hidden = [], texts = '', isFrom1904 = false }: WorkbookParts): Buffer {
  const names = Object.keys(sheets);
  const formats = NUMBER_FORMATS.map((code, i) => `<numFmt numFmtId="${170 + i}" formatCode="${escaped(code)}"/>`);
  return zipOf({
    'xl/workbook.xml': `<?xml version="1.0" encoding="UTF-8"?><workbook xmlns:r="r"><workbookPr date1904="${isFrom1904}"/><sheets>${names
      .map(
        (name, i) => `<sheet name="${escaped(name)}" r:id="rId${i}"${hidden.includes(name) ? ' state="hidden"' : ''}/>`,
      )
      .join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names
      .map((_, i) => `<Relationship Id="rId${i}" Type="http://x/worksheet" Target="worksheets/sheet${i}.xml"/>`)
      .join('')}</Relationships>`,
    'xl/styles.xml': `<styleSheet><numFmts>${formats.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${NUMBER_FORMATS.map(
      (_, i) => `<xf numFmtId="${170 + i}"/>`,
    ).join('')}<xf numFmtId="22"/></cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst>${texts}</sst>`,
    ...Object.fromEntries(
      Object.values(sheets).map((rows, i) => [
        `xl/worksheets/sheet${i}.xml`,
        `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
      ]),
    ),
  });
}

/** Rows whose cells are texts. */
export function textRows(...rows: readonly string[][]): string {
  return rows
    .map(
      (cells) => `<row>${cells.map((text) => `<c t="inlineStr"><is><t>${escaped(text)}</t></is></c>`).join('')}</row>`,
    )
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
