/**
 * Points in time as text, `2026-01-01T00:00:00Z`, without the host's calendar. The algorithm for
 * days is Howard Hinnant's ("chrono-compatible low-level date algorithms", public domain).
 */

const SECONDS_PER_DAY = 86_400;
const TEXT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z$/;

/** Seconds since 1970-01-01T00:00:00Z as text, for the years 0 to 9999. */
export function formatDatetime(seconds: number): string {
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  const rest = seconds - days * SECONDS_PER_DAY;
  const { year, month, day } = civilFromDays(days);
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60];
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  return `${date}T${clock.map((part) => pad(part, 2)).join(':')}Z`;
}

/** Seconds since 1970-01-01T00:00:00Z, or null for what is no such text or no such day. */
export function parseDatetime(text: string): number | null {
  const match = TEXT.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as Six;
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return null;
  const days = daysFromCivil(year, month, day);
  const back = civilFromDays(days);
  if (back.month !== month || back.day !== day) return null;
  return days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
}

type Six = [number, number, number, number, number, number];

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const years = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) /
      365,
  );
  const ofYear = ofEra - (365 * years + Math.floor(years / 4) - Math.floor(years / 100));
  const shiftedMonth = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: years + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear;
  return era * 146_097 + dayOfEra - 719_468;
}
