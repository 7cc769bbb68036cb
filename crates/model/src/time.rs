//! Times of documents: RFC 3339 in UTC, such as `2026-03-01T12:34:56Z`. A time library would be
//! larger than these two functions.

/// The days from 1 March of the year 0 to 1 January 1970. Years that begin in March have the
/// leap day at their end.
const TO_1970: u64 = 719_468;

/// Formats seconds since 1970.
pub fn rfc3339(unix_seconds: u64) -> String {
    let (days, rest) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let shifted = days + TO_1970;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Parses a time to seconds since 1970.
pub fn unix_seconds(time: &str) -> Option<u64> {
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (y, m) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days = days.checked_sub(TO_1970)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_and_parsed() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_827_696, "2000-02-29T12:34:56Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
            assert_eq!(unix_seconds(text), Some(seconds));
        }
        assert_eq!(unix_seconds(""), None);
        assert_eq!(unix_seconds("2026-13-01T12:34:56Z"), None);
    }
}
