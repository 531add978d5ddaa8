"""The page about files names each suffix that is read, and none that is not."""

import ast
import re
from pathlib import PurePath

import pytest

from pgblend.cli.documents.document import UnsupportedFormatError
from pgblend.cli.documents.formats import media_type_of, read_suffixes
from support.documentation import ROOT

_PAGE = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
# Suffixes as a table names them: several between one pair of marks.
_NAMED = re.compile(r"`(\.[a-z0-9]+(?: \.[a-z0-9]+)*)`")


def _tables():
    rows = [line.split("|")[1] for line in _PAGE.splitlines() if line.startswith("| ")]
    return {suffix for row in rows for names in _NAMED.findall(row) for suffix in names.split()}


def test_each_suffix_that_is_read_is_in_a_table():
    assert sorted(read_suffixes() - _tables()) == []


def test_each_suffix_in_a_table_is_read():
    refused = set()
    for suffix in _tables():
        try:
            media_type_of(PurePath(f"a{suffix}"), b"text")
        except UnsupportedFormatError:
            refused.add(suffix)
    assert refused == set()


# What holds each row of the tables of formats: files of tests, and the tests in them.
_HELD = {
    "PDF (": (
        "unit/test_pdf_order: test_columns_are_read_one_after_the_other "
        "test_text_is_read_upright_however_its_page_is_turned "
        "test_a_hyphen_that_belongs_to_a_word_stays "
        "test_a_word_divided_over_the_gutter_or_two_pages_is_whole "
        "test_a_hyphen_that_stands_for_the_next_word_s_end_stays "
        "test_heads_and_feet_that_repeat_are_metadata",
        "unit/test_pdf_forms: test_what_was_typed_stands_after_its_label "
        "test_what_nobody_sees_is_not_read test_notes_and_stamps_are_read_and_links_are_not "
        "test_an_xfa_form_is_read_from_its_xml test_an_xfa_form_that_cannot_be_read_is_told "
        "test_what_is_written_of_a_picture_is_read_where_it_stands test_attached_files_are_told "
        "test_layers_that_are_off_are_left_out_and_told "
        "test_text_beside_the_visible_part_of_a_page_is_left_out_and_told "
        "test_what_a_file_says_of_itself_is_metadata",
    ),
    "scans": (
        "unit/test_pdf_forms: test_a_page_that_is_a_picture_with_a_stamp_is_a_scan",
        "unit/test_formats: test_pdf_pages_without_text_are_named",
        "cli/test_ingest_pictures: test_scanned_pages_of_a_pdf_are_read",
    ),
    "Word": (
        "unit/test_word: test_numbers_are_those_that_word_makes "
        "test_text_boxes_charts_and_fields_are_read_once test_heads_feet_and_notes_come_once "
        "test_formulas_are_read_in_one_line test_of_a_field_its_result_is_read "
        "test_boxes_that_people_tick test_what_is_written_of_a_picture_is_read_where_it_stands "
        "test_what_was_deleted_is_no_text test_hidden_text_is_left_out_and_told "
        "test_what_is_embedded_is_told test_slightly_damaged_files_are_read "
        "test_what_was_put_in_as_a_whole_is_read test_files_of_one_xml_are_read",
        "cli/test_ingest_office: test_what_people_see_is_found "
        "test_relatives_and_damaged_files_are_found",
    ),
    "PowerPoint": (
        "unit/test_slides: test_everything_on_a_slide_is_read_in_its_order "
        "test_what_layouts_and_feet_say_comes_once test_a_slide_that_is_missing_is_told "
        "test_a_formula_on_a_slide_is_read_in_one_line "
        "test_what_is_written_of_a_picture_is_read_and_what_is_hidden_told",
    ),
    "Excel (`.xlsx": (
        "unit/test_sheets: test_numbers_are_written_as_cells_show_them "
        "test_excel_s_own_files_read_as_shown "
        "test_cells_of_opendocument_have_the_text_that_they_show "
        "test_beside_the_cells_of_opendocument_are_charts_and_heads_of_pages "
        "test_what_cells_say_when_one_types_and_what_controls_say "
        "test_a_formula_without_a_value_is_told test_what_old_files_have_over_their_cells_is_told "
        "test_what_is_hidden_is_read_and_told test_a_hidden_sheet_of_opendocument_is_read_and_told "
        "test_excel_s_xml_of_2003_is_read_as_shown "
        "test_of_a_damaged_sheet_of_opendocument_the_rows_before_the_fault_are_read",
        "unit/test_parsers: test_a_file_is_what_it_begins_as",
    ),
    "Excel (`.xlsb": ("unit/test_sheets: test_a_binary_workbook_is_read_and_its_formats_are_told",),
    "source code": (
        "unit/test_code: test_functions_and_classes_are_told_in_each_language "
        "test_passages_are_whole_functions_with_what_is_around_them",
    ),
    "other source code": (
        "unit/test_code: test_other_languages_are_cut_at_lines_under_their_definitions "
        "test_definitions_of_other_languages_are_headings "
        "test_pages_with_code_and_blocks_of_terraform_have_headings",
    ),
    "CSV": (
        "unit/test_sheets: test_a_delimiter_is_told_by_the_structure "
        "test_prose_in_a_single_column_is_not_parted",
    ),
    "mail": (
        "cli/test_ingest_mail: test_a_text_of_a_mail_is_found_where_it_is "
        "test_what_is_attached_is_tied_to_its_mail test_signatures_are_no_text "
        "test_files_that_are_not_read_are_named",
        "unit/test_messages: test_what_was_deleted_in_thunderbird_is_not_read",
    ),
    "archives": (
        "cli/test_ingest_mail: test_a_text_of_a_mail_is_found_where_it_is "
        "test_files_that_are_not_read_are_named",
    ),
    "contacts": ("unit/test_texts: test_contacts_are_read_as_people_see_them",),
    "calendars": ("unit/test_texts: test_a_calendar_says_when_where_who_and_what_for",),
    "web pages": (
        "unit/test_pages: test_what_a_reader_sees_is_text "
        "test_what_leads_through_a_site_is_no_text "
        "test_a_page_of_a_generator_is_read_without_its_navigation",
        "cli/test_ingest_mail: test_a_text_of_a_mail_is_found_where_it_is",
    ),
    "EPUB": (
        "cli/test_ingest_report: test_a_chapter_that_is_missing_is_named_and_the_rest_is_read",
        "unit/test_texts: test_a_book_is_read_whole_without_its_container_and_order "
        "test_of_a_damaged_book_the_whole_chapters_are_read",
        "unit/test_pictures: test_pictures_of_an_epub_are_read_in_their_chapter "
        "test_chapters_without_a_title_and_drawings_among_them_are_read",
    ),
    "FictionBook": ("unit/test_texts: test_a_book_of_one_xml_is_read_in_its_order",),
    "Evernote": ("unit/test_texts: test_notes_of_evernote_are_pages_under_their_titles",),
    "Markdown": (
        "unit/test_texts: test_markdown_of_many_programs_is_read_as_it_is_shown",
        "cli/test_ingest_texts: test_what_is_shown_is_found test_what_is_not_shown_is_no_word "
        "test_what_stands_about_a_text_is_metadata test_what_is_left_out_is_named",
    ),
    "LaTeX": (
        "unit/test_markup_languages: test_text_and_headings_are_read_and_marks_are_no_words "
        "test_files_that_a_text_takes_in_are_named test_what_is_set_of_a_macro_is_text",
    ),
    "reStructuredText": (
        "unit/test_markup_languages: test_restructuredtext_has_headings "
        "test_a_text_tells_its_date test_files_that_a_text_takes_in_are_named",
    ),
    "bibliographies": (
        "unit/test_markup_languages: test_entries_of_a_bibliography_stand_under_their_titles",
    ),
    "draw.io": (
        "unit/test_texts: test_words_of_a_diagram_are_read_packed_or_not",
        "unit/test_parsers: test_a_file_is_what_it_begins_as",
    ),
    "notebooks": (
        "unit/test_texts: test_no_result_of_a_notebook_is_lost_in_silence "
        "test_pictures_within_a_cell_are_told test_a_result_that_is_data_alone_is_read",
        "unit/test_formats: test_notebook_cells",
    ),
    "OpenDocument": (
        "unit/test_opendocument: test_lists_have_the_numbers_that_they_show "
        "test_headings_have_the_numbers_of_the_outline "
        "test_what_is_switched_off_is_left_out_and_told "
        "test_what_is_written_of_a_drawing_is_read_where_it_stands "
        "test_the_words_of_a_drawing_are_read_whatever_its_shapes "
        "test_formulas_are_words_and_pronunciation_is_none "
        "test_what_was_typed_into_a_form_stands_after_its_label "
        "test_fields_of_word_spaces_and_numbers_of_slides_read_as_shown",
        "unit/test_pictures: test_notes_and_frames_of_an_odt_are_read_once",
        "cli/test_ingest_texts: test_what_is_shown_is_found test_what_is_not_shown_is_no_word",
    ),
    "subtitles": (
        "unit/test_texts: test_all_that_is_said_in_subtitles_is_read "
        "test_substation_alpha_names_who_speaks",
        "cli/test_ingest_texts: test_times_are_places_and_code_stays",
    ),
    "RTF": (
        "unit/test_texts: test_what_stands_beside_the_text_of_an_rtf_is_read "
        "test_what_is_chosen_in_a_form_of_an_rtf_is_text",
    ),
    "XML": (
        "unit/test_formats: test_xml_and_rtf",
        "unit/test_texts: test_pages_and_names_within_xml_are_read",
        "unit/test_parsers: test_json_file_is_written_out_with_its_characters "
        "test_only_an_array_of_objects_is_records",
    ),
    "pictures": (
        "unit/test_pictures: test_every_kind_is_opened_and_made_small",
        "cli/test_ingest_pictures: test_a_vision_model_describes_a_picture "
        "test_tesseract_reads_where_there_is_no_model "
        "test_without_model_and_tesseract_one_clear_line",
    ),
}


def _formats():
    """Yield the first cells of the tables that say what is read and what is left out."""
    is_one = False
    for line in _PAGE.splitlines():
        is_one = line.startswith("| format |") or (is_one and line.startswith("|"))
        if is_one and not line.startswith(("| format |", "|---", "| ---")):
            yield line.split("|")[1].strip()


def test_each_row_is_held_by_tests():
    rows = list(_formats())
    assert len(rows) == len(_HELD)
    for row in rows:
        assert max((key for key in _HELD if row.startswith(key)), key=len, default=None), row


@pytest.mark.parametrize("row", sorted(_HELD))
def test_the_tests_that_hold_a_row_are_there(row):
    assert any(name.startswith(row) for name in _formats())
    for named in _HELD[row]:
        path, _, tests = named.partition(": ")
        source = (ROOT / "tests" / f"{path}.py").read_text(encoding="utf-8")
        found = {
            each.name for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)
        }
        assert tests, named
        assert set(tests.split()) - found == set(), named
