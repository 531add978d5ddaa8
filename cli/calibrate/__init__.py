"""What relevance means in a collection: curves fitted on its judged queries."""
